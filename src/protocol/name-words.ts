/** Names as words: how `intent_classify`, `IntentClassify` and `classify-intent` are read (R15). */

/** Words that say nothing about what is done: a name with one more of them is the same name to a reader. */
const FILLERS: ReadonlySet<string> = new Set(
  'ability agent api assistant bot capability do endpoint func function handler impl method run service skill svc task tool the'.split(
    ' ',
  ),
);
/** The same, where words are not separated. Longest first. */
const HAN_FILLERS = ['智能体', '智慧體', '服务', '服務', '能力', '接口', '助手', '工具', '功能'];
const VERSION_WORD = /^v\d+$/;

/** Traditional letter after simplified letter, the usual ones in names of abilities. */
const SIMPLIFIED_TRADITIONAL =
  '查查询詢订訂单單发發票票识識别別认認证證货貨运運费費账帳务務客客户戶资資讯訊报報表表数數据據统統计計图圖类類译譯语語' +
  '说說话話评評论論审審风風险險预預测測测測优優处處理理执執行行转轉换換开開关關启啟动動传傳输輸输輸线線网網络絡页頁' +
  '标標签簽记記录錄选選择擇购購买買卖賣价價钱錢银銀贷貸还還医醫药藥诊診疗療学學习習题題试試问問答答请請谢謝时時间間' +
  '长長短短对對话話听聽写寫读讀编編辑輯删刪除除创創建建设設备備检檢验驗测測维維护護调調节節声聲乐樂视視频頻电電脑腦' +
  '机機车車员員队隊组組织織团團业業产產质質变變更更历歷纪紀约約会會议議签簽联聯系繫热熱门門号號码碼条條总總结結摘摘' +
  '归歸纳納给給让讓与與专專权權规規则則库庫实實体體项項目目亲親诉訴赔賠偿償补補后後个個们們这這么麼无無';

const TO_SIMPLIFIED = simplifying(SIMPLIFIED_TRADITIONAL);

/** A name in simplified letters. */
export function simplified(text: string): string {
  let folded = '';
  for (const char of text) folded += TO_SIMPLIFIED.get(char) ?? char;
  return folded;
}

/** Whether a word is written in Han letters, of which each is one of meaning. */
export function isHan(word: string): boolean {
  return /\p{Script=Han}/u.test(word);
}

/** The words of a name in lower case: parted at separators, at the humps of camel case, and before and after digits. */
export function wordsOf(name: string): string[] {
  return name
    .normalize('NFKC')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .flatMap((word) => (VERSION_WORD.test(word) ? [word] : (word.match(/\p{N}+|[^\p{N}]+/gu) ?? [])));
}

/** What is left of words that say something, and what was left out. */
export interface CoreWords {
  words: string[];
  /** Fillers and versions, such as `agent` and `v2`. */
  dropped: string[];
}

/** Words without fillers and versions, in simplified letters. All of them where nothing would be left. */
export function coreWords(words: readonly string[]): CoreWords {
  const dropped: string[] = [];
  const kept = words.flatMap((word) => {
    if (FILLERS.has(word) || VERSION_WORD.test(word)) return (dropped.push(word), []);
    const short = withoutHanFiller(word);
    if (short !== word) dropped.push(word.slice(short.length));
    return [simplified(short)];
  });
  return kept.length > 0 ? { words: kept, dropped } : { words: words.map(simplified), dropped: [] };
}

/** Whether a dropped word is a version. */
export function isVersionWord(word: string): boolean {
  return VERSION_WORD.test(word);
}

function withoutHanFiller(word: string): string {
  const filler = HAN_FILLERS.find((ending) => word.length > ending.length && word.endsWith(ending));
  return filler === undefined ? word : word.slice(0, -filler.length);
}

function simplifying(pairs: string): ReadonlyMap<string, string> {
  const letters = [...pairs];
  const map = new Map<string, string>();
  for (let at = 0; at + 1 < letters.length; at += 2)
    if (letters[at] !== letters[at + 1]) map.set(letters[at + 1]!, letters[at]!);
  return map;
}
