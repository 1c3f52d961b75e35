/** Exported decisions: JSON lines, packed where the name ends with `.gz`. */
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import type { LoggedDecision } from '../../sdk/decisions';
import { UsageError } from '../exit-codes';

/**
 * Writes decisions as they come; how many. They lie in `FILE.part` until all are there, so that an export that fails leaves
 * the one before as it was.
 * @throws UsageError for a file that cannot be written
 */
export async function writeExport(file: string, decisions: AsyncIterable<LoggedDecision>): Promise<number> {
  const place = (await isDevice(file)) ? file : `${file}.part`;
  try {
    const written = await writeTo(place, decisions, { packed: file.endsWith('.gz') });
    if (place !== file) await rename(place, file);
    return written;
  } catch (caught) {
    if (place !== file) await rm(place, { force: true }).catch(() => undefined);
    throw isOfFiles(caught) ? new UsageError(`${file} cannot be written: ${caught.message}`) : caught;
  }
}

/** A pipe or a terminal has no earlier content, and nothing can be put in its place. */
async function isDevice(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => null);
  return found !== null && !found.isFile() && !found.isDirectory();
}

function isOfFiles(caught: unknown): caught is NodeJS.ErrnoException {
  return typeof caught === 'object' && caught !== null && 'syscall' in caught && 'path' in caught;
}

async function writeTo(
  file: string,
  decisions: AsyncIterable<LoggedDecision>,
  { packed }: { packed: boolean },
): Promise<number> {
  let count = 0;
  const lines = async function* () {
    for await (const decision of decisions) {
      count += 1;
      yield `${JSON.stringify(decision)}\n`;
    }
  };
  const target = createWriteStream(file);
  const source = Readable.from(lines());
  if (packed) await pipeline(source, createGzip(), target);
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

const name = z.string();
const outcome = z.object({ agent_name: name, agent_version: name, ability: name });
const numbers = z.object({ semantic_similarity: z.number(), latency_score: z.number(), reliability_score: z.number() });
/** What a replay relies on; a file may have been written by anybody. */
const shape = z
  .object({
    decision_id: name,
    at: z.iso.datetime(),
    route_reason: name,
    chosen: outcome.nullable(),
    weights: numbers.optional(),
    exploration: z.object({ draw: z.number() }).optional(),
    versioning: z.object({ draw: z.number().optional() }).optional(),
    inputs: z
      .object({
        request: z.object({ ability: name.optional(), type: name, group: name }),
        exploration: z.object({ rate: z.number(), band: z.number() }),
        open_match: z.object({ minFit: z.number(), minConfidence: z.number() }),
        routes: z.array(z.object({ ability: name, from: name, to: name, weight: z.number() })).optional(),
        offers: z.array(outcome.extend({ registered_at: name, text_id: name })),
      })
      .optional(),
  })
  .refine(({ inputs, weights }) => inputs === undefined || weights !== undefined);

/** Null for the header of a segment. */
function parse(line: string, where: string): LoggedDecision | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new UsageError(`${where} is no JSON; an export has one decision on each line (agent-reach decisions export)`);
  }
  if (typeof value === 'object' && value !== null) {
    const parsed = shape.safeParse(value);
    if (parsed.success) return value as LoggedDecision;
    if ('v' in value && 'made_by' in value && !('decision_id' in value)) return null;
  }
  throw new UsageError(`${where} is no decision; make the file with agent-reach decisions export`);
}
