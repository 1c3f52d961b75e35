import fc from 'fast-check';
import { skeleton } from './nearest';
import { nearMiss } from './near-miss';

it.each([
  ['intent_classify', 'intent_classification', 'ending'],
  ['intent-classify', 'IntentClassification', 'ending'],
  ['intent_classifier', 'intent_classify', 'ending'],
  ['summarise', 'summarize', 'spelling'],
  ['text_summary', 'text_summaries', 'ending'],
  ['order_list', 'orders_list', 'ending'],
  ['translate', 'translation', 'ending'],
  ['moderate_image', 'moderation_image', 'ending'],
  ['invoice_ocr', 'invoice_orc', 'spelling'],
  ['refund_progress', 'refund_progess', 'spelling'],
  ['refund_progress', 'refudn_progress', 'spelling'],
  ['refund_progress', 'refind_progress', 'spelling'],
  ['receive_mail', 'recieve_mail', 'spelling'],
  ['classify_intent', 'intent_classify', 'word order'],
  ['refund', 'refund_agent', 'prefix or suffix'],
  ['refund_service', 'refund_tool', 'prefix or suffix'],
  ['do_refund', 'refund', 'prefix or suffix'],
  ['invoice-ocr', 'invoice-ocr-v2', 'a version in the name'],
  ['intentclassification', 'intent_classify', 'ending'],
  ['退款查询服务', '退款查询', 'prefix or suffix'],
  ['退款查詢', '退款查询', 'simplified and traditional letters'],
  ['訂單狀態查詢', '订单狀態查询', 'simplified and traditional letters'],
  ['订单状态查询', '订单态状查询', 'spelling'],
] as const)('%s and %s would be mixed up: %s', (one, other, why) => {
  expect(nearMiss(one, other)).toBe(why);
  expect(nearMiss(one, other)).toBe(nearMiss(other, one));
});

it.each([
  ['refund_create', 'refund_cancel'],
  ['refund_create', 'refund_query'],
  ['refund', 'refund_create'],
  ['product', 'product_qa'],
  ['product_qa', 'product_qa_answer'],
  ['get_order', 'set_order'],
  ['import_data', 'export_data'],
  ['encode_text', 'decode_text'],
  ['encrypt_file', 'decrypt_file'],
  ['enable_user', 'disable_user'],
  ['login', 'logout'],
  ['upload_file', 'download_file'],
  ['contact_lookup', 'contract_lookup'],
  ['message_send', 'massage_send'],
  ['order_status', 'order_history'],
  ['text_to_image', 'image_to_video'],
  ['quote_price', 'quota_price'],
  ['read_mail', 'send_mail'],
  ['load_page', 'lock_page'],
  ['subscribe', 'unsubscribe'],
  ['order', 'reorder'],
  ['paid_invoices', 'unpaid_invoices'],
  ['summarise_v1', 'summarise_v2'],
  ['agent_1', 'agent_2'],
  ['team_7_search', 'team_8_search'],
  ['gpt4_chat', 'gpt5_chat'],
  ['fr_en_translate', 'de_en_translate'],
  ['inbound_calls', 'outbound_calls'],
  ['weather', 'whether_or_not'],
  ['charge_card', 'change_card'],
  ['ocr', 'asr'],
  ['echo', 'ocho'],
  ['refund_agent', 'aftersale_agent'],
  ['退款', '退货'],
  ['退款创建', '退款取消'],
  ['意图分类', '意图识别'],
  ['国内订单查询', '国外订单查询'],
  ['支付订单查询', '未支付订单查询'],
  ['订单查询', '订单状态查询'],
  ['上传文件', '下载文件'],
  ['оплата', 'доставка'],
])('%s and %s are both meant', (one, other) => {
  expect(nearMiss(one, other)).toBeNull();
  expect(nearMiss(other, one)).toBeNull();
});

const word = fc.constantFrom('refund', 'order', 'invoice', 'classify', 'search', 'intent', 'product', 'translate');
const name = fc.uniqueArray(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('_'));

it('is symmetric, whatever the names (property)', () => {
  const any = fc.oneof(name, fc.string({ unit: 'grapheme', maxLength: 20 }));
  fc.assert(fc.property(any, any, (one, other) => expect(nearMiss(one, other)).toBe(nearMiss(other, one))));
});

it('finds every single swap of neighbours in a word (property)', () => {
  fc.assert(
    fc.property(name, fc.nat(), (original, seed) => {
      const places = [...original].flatMap((char, at) => {
        const next = original[at + 1];
        return next && next !== char && next !== '_' && char !== '_' ? [at] : [];
      });
      const at = places[seed % places.length]!;
      const slip = original.slice(0, at) + original[at + 1]! + original[at]! + original.slice(at + 2);
      expect(nearMiss(slip, original)).toBe('spelling');
    }),
  );
});

it('one word more that says something is another ability (property)', () => {
  fc.assert(
    fc.property(name, word, (original, more) => {
      fc.pre(!original.split('_').includes(more));
      expect(nearMiss(original, `${original}_${more}`)).toBeNull();
    }),
  );
});

it('versions and numbers beside each other are meant (property)', () => {
  fc.assert(
    fc.property(name, fc.nat(99), fc.nat(99), (original, a, b) => {
      fc.pre(a !== b);
      expect(nearMiss(`${original}_v${a}`, `${original}_v${b}`)).toBeNull();
      expect(nearMiss(`${original}_${a}`, `${original}_${b}`)).toBeNull();
    }),
  );
});

it('other words are never a near miss (property)', () => {
  fc.assert(
    fc.property(name, name, (one, other) => {
      fc.pre(
        skeleton(one) !== skeleton(other) && one.split('_').toSorted().join() !== other.split('_').toSorted().join(),
      );
      expect(nearMiss(one, other)).toBeNull();
    }),
  );
});
