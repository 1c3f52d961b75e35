/** The files of the repository that the deployment and the documents consist of, as the tests here read them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const ROOT = join(__dirname, '../..');

/** Absolute path of a file of the repository. */
export function pathOf(file: string): string {
  return join(ROOT, file);
}

/** Text of a file of the repository. */
export function textOf(file: string): string {
  return readFileSync(pathOf(file), 'utf8');
}

/** Content of a YAML file of the repository. Duplicate keys throw. */
export function yamlOf<T>(file: string): T {
  return parse(textOf(file), { merge: true, uniqueKeys: true }) as T;
}

/** True when the repository has this file or folder. */
export function isThere(file: string): boolean {
  return existsSync(pathOf(file));
}

/** A fenced block of a Markdown document. */
export interface CodeBlock {
  language: string;
  code: string;
  /** The nearest heading above it, without the marks. */
  section: string;
}

/** All fenced blocks of a Markdown text, in order. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let section = '';
  let open: CodeBlock | null = null;
  for (const line of markdown.split('\n')) {
    const fence = /^```(\w*)/.exec(line);
    if (fence && open) {
      blocks.push(open);
      open = null;
    } else if (fence) open = { language: fence[1] ?? '', code: '', section };
    else if (open) open.code += `${line}\n`;
    else section = /^#+ (.*)$/.exec(line)?.[1] ?? section;
  }
  return blocks;
}
