/**
 * YAML in, without surprises (YAML 1.2 core): one document, no duplicate, reserved or non-string keys, no
 * unknown tags, no merge keys, bounded depth and alias expansion, and no scalar that is read as another
 * value than it shows. The `yaml` library parses; the conversion to plain data is ours, because its own
 * throws a ReferenceError at its alias limit, recurses without bound and re-types scalars silently.
 */
import { Composer, Lexer, LineCounter, Parser, type CST, type Document } from 'yaml';
import { tooDeep, faultError } from './json-faults';
import { MAX_DEPTH, MAX_YAML_NODES } from './limits';
import { ReachError, type FieldError } from './reach-error';
import type { Json } from './shapes';
import { aliasLimitError, MAX_ALIASES, YamlConversion } from './yaml-conversion';

/** Plain data out of YAML, with what is not fatal. */
export interface YamlResult {
  value: Json;
  /** Scalars that would change their value; to be reported with the other findings about the document. */
  findings: FieldError[];
  warnings: string[];
}

/** How failures are named. */
export interface YamlOptions {
  /** What the text is, for messages. */
  what: string;
}

/**
 * Parses one YAML document.
 * @throws ReachError `input_too_deep`, `duplicate_key` (both lines named), `forbidden_key`, or `invalid_descriptor`,
 * with `details.reason` `alias_limit` for more aliases than a person writes, `node_limit` for more values.
 */
export function parseYaml(text: string, options: YamlOptions): YamlResult {
  const lines = new LineCounter();
  const document = compose(text, lines, options);
  return new YamlConversion(document, lines, options.what).run();
}

function compose(text: string, lines: LineCounter, { what }: YamlOptions): Document.Parsed {
  const tokens = readTokens(text, lines, what);
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    uniqueKeys: false,
    logLevel: 'silent',
    lineCounter: lines,
  });
  const documents = [...composer.compose(tokens, true, text.length)];
  if (documents.length > 1) throw invalid(`${what} has ${documents.length} documents; send one at a time`);
  const [document] = documents;
  const problem = document!.errors[0] ?? document!.warnings[0];
  if (problem !== undefined)
    throw invalid(`${what} is not valid YAML: ${at(lines, problem.pos[0])}${firstLine(problem.message)}`);
  const version = document!.directives.yaml.version;
  if (version !== '1.2') throw invalid(`${what} asks for YAML ${version}; remove the %YAML line, YAML 1.2 is read`);
  return document!;
}

/** Marks that the next lexeme is a scalar's text, which may look like anything. */
const SCALAR_FOLLOWS = '\u001f';

/** The syntax tree, built without recursion; depth and aliases are checked before anything recursive sees it. */
function readTokens(text: string, lines: LineCounter, what: string): CST.Token[] {
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  const count: Counts = { depth: 0, aliases: 0, values: 0, marks: 0 };
  let before = '';
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    if (before !== SCALAR_FOLLOWS) countLexeme(lexeme, count);
    if (count.depth > MAX_DEPTH) throw faultError(tooDeep(MAX_DEPTH), { what });
    if (count.aliases > MAX_ALIASES) throw aliasLimitError(what);
    if (Math.max(count.values, count.marks) > MAX_YAML_NODES) throw nodeLimitError(what);
    tokens.push(...parser.next(lexeme));
    before = lexeme;
  }
  tokens.push(...parser.end());
  if (isTooDeep(tokens)) throw faultError(tooDeep(MAX_DEPTH), { what });
  return tokens;
}

interface Counts {
  depth: number;
  aliases: number;
  /** Scalars and flow collections. */
  values: number;
  /** Indicators of items and keys, whose values may be left out. */
  marks: number;
}

const MARKS = new Set(['-', '?', ':', ',']);

function countLexeme(lexeme: string, count: Counts): void {
  if (lexeme === SCALAR_FOLLOWS || lexeme === '[' || lexeme === '{') count.values++;
  else if (MARKS.has(lexeme)) count.marks++;
  if (lexeme === '[' || lexeme === '{') count.depth++;
  else if (lexeme === ']' || lexeme === '}') count.depth--;
  else if (lexeme.startsWith('*')) count.aliases++;
}

function nodeLimitError(what: string): ReachError {
  const fix = 'write less, or send JSON';
  return new ReachError('invalid_descriptor', `${what} has more than ${MAX_YAML_NODES} values; ${fix}`, {
    errors: [{ pointer: '', message: `has more than ${MAX_YAML_NODES} values`, fix }],
    extra: { details: { reason: 'node_limit', max_nodes: MAX_YAML_NODES } },
  });
}

/** Walks the syntax tree with a list instead of the stack. */
function isTooDeep(tokens: readonly CST.Token[]): boolean {
  const open: { token: CST.Token | null | undefined; depth: number }[] = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (token?.type === 'document') open.push({ token: token.value, depth });
    if (!token || !('items' in token)) continue;
    if (depth >= MAX_DEPTH) return true;
    for (const item of token.items) {
      open.push({ token: item.key, depth: depth + 1 }, { token: item.value, depth: depth + 1 });
    }
  }
  return false;
}

function at(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `line ${line}, column ${col}: `;
}

const firstLine = (message: string): string => message.split('\n', 1)[0]!.replace(/ at line \d+, column \d+:?$/, '');

const invalid = (message: string): ReachError =>
  new ReachError('invalid_descriptor', message, { errors: [{ pointer: '', message }] });
