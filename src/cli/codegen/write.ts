import { readFileSync, writeFileSync } from 'node:fs';
import { ReachError } from '../../protocol/reach-error';
import type { AgentView } from '../../sdk/wire-types';
import { EXIT, UsageError } from '../exit-codes';
import { jsonText, printable } from '../printable';
import { count } from '../render/text';
import type { Session } from '../session';
import { catalogueOf } from './catalogue';
import { renderModule, type Language } from './render';

/** Where it goes. Without `out` to stdout. */
export interface WriteOptions {
  out?: string;
  /** Compare only. */
  check?: boolean;
}

/** Writes the catalogue as code, or says whether the file is what would be written; then the exit code is 1 when it is not. */
export async function writeModule(session: Session, language: Language, { out, check }: WriteOptions): Promise<void> {
  if (check && out === undefined) throw new UsageError('--check needs --out: the file to compare with');
  const { io } = session;
  const catalogue = catalogueOf(printable(await allAgents(session)));
  const text = renderModule(catalogue, language);
  if (out === undefined)
    return io.out(session.json ? `${jsonText({ language, abilities: catalogue.length, text })}\n` : text);
  const before = contentOf(out);
  const fresh = before === text;
  if (!check && !fresh) write(out, text);
  if (check && !fresh) session.exitCode = EXIT.failed;
  const facts = { file: out, abilities: catalogue.length, fresh, written: !check && !fresh };
  session.print(facts, () => outcome(facts, { missing: before === null, check: check === true, io }));
}

/** All pages: a catalogue that is cut would take constants away. */
async function allAgents({ client }: Session): Promise<AgentView[]> {
  const agents: AgentView[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.agents({ cursor });
    agents.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return agents;
}

function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').replaceAll('\r\n', '\n');
  } catch {
    return null;
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw new ReachError('invalid_request', `${file} cannot be written; name a file in a folder that is there`, {
      cause,
    });
  }
}

function outcome(
  { file, abilities, fresh, written }: { file: string; abilities: number; fresh: boolean; written: boolean },
  { missing, check, io }: { missing: boolean; check: boolean; io: Session['io'] },
): string {
  const { green, red, dim } = io.color;
  if (written) return `${green('✓')} ${file}  written, ${count(abilities, 'name')}`;
  if (fresh) return `${green('✓')} ${file}  is what the catalogue says`;
  const state = missing ? 'is not there' : 'is stale';
  return `${red('✗')} ${file}  ${state}${check ? dim('  → the same command without --check writes it') : ''}`;
}
