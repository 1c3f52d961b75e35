/** Exported decisions: JSON lines, packed where the name ends with `.gz`. */
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { LoggedDecision } from '../../sdk/decisions';
import { UsageError } from '../exit-codes';

/** Writes decisions as they come; how many. */
export async function writeExport(file: string, decisions: AsyncIterable<LoggedDecision>): Promise<number> {
  let count = 0;
  const lines = async function* () {
    for await (const decision of decisions) {
      count += 1;
      yield `${JSON.stringify(decision)}\n`;
    }
  };
  const target = createWriteStream(file);
  const source = Readable.from(lines());
  if (file.endsWith('.gz')) await pipeline(source, createGzip(), target);
  else await pipeline(source, target);
  return count;
}

/**
 * Reads an export, or segments of the log as they lie in the store, without keeping it.
 * @throws UsageError naming the line that is no decision
 */
export async function* readExport(file: string): AsyncGenerator<LoggedDecision> {
  const raw = createReadStream(file);
  const source = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  raw.once('error', (error) => source.destroy(error));
  let number = 0;
  try {
    for await (const line of createInterface({ input: source, crlfDelay: Infinity })) {
      number += 1;
      const decision = line === '' ? null : parse(line, `${file}:${number}`);
      if (decision) yield decision;
    }
  } catch (caught) {
    if (caught instanceof UsageError) throw caught;
    throw new UsageError(`${file} cannot be read: ${caught instanceof Error ? caught.message : String(caught)}`);
  }
}

/** Null for the header of a segment. */
function parse(line: string, where: string): LoggedDecision | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new UsageError(`${where} is no JSON; an export has one decision on each line (agent-reach decisions export)`);
  }
  if (typeof value === 'object' && value !== null) {
    if ('decision_id' in value && 'route_reason' in value) return value as LoggedDecision;
    if ('v' in value && 'made_by' in value) return null;
  }
  throw new UsageError(`${where} is no decision; make the file with agent-reach decisions export`);
}
