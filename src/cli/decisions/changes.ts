/** What a replay changes, as options write it. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import { parseDescriptor } from '../../protocol/descriptor-loader';
import type { ReplayChanges } from '../../sdk/decisions';
import { UsageError } from '../exit-codes';

/** Options of a replay. */
export interface ChangeOptions {
  weights?: ReplayChanges['weights'];
  breaker?: BreakerState[];
  ignoreBreakers?: boolean;
  bypassShare?: number;
  recoveryShare?: number;
  routes?: string;
  without?: string[];
  agents?: string[];
  model?: string;
}

type BreakerState = NonNullable<NonNullable<ReplayChanges['breakers']>['states']>[number];

const FACTORS = ['semantic_similarity', 'latency_score', 'reliability_score'];

/** Adds the options that say what is changed. */
export function addChangeOptions(command: Command): Command {
  return command
    .option('--weights <list>', 'factor=weight,…: semantic_similarity, latency_score, reliability_score', parseWeights)
    .option(
      '--breaker <agent=state>',
      'agent[#version][/ability]=open, closed, or bypass:SHARE; repeatable',
      collectBreaker,
    )
    .option('--ignore-breakers', 'as if all breakers were closed')
    .option('--bypass-share <share>', 'what breakers in bypass let pass, 0–1', parseShare)
    .option('--recovery-share <share>', 'what recovering breakers let pass, 0–1', parseShare)
    .option('--routes <file>', 'another canary table, {"routes": […]}')
    .option('--without <agent>', 'as if this agent had not been there; repeatable', collect)
    .option('--agents <file>', 'a descriptor: these agents and nobody else; repeatable', collect)
    .option('--model <name>', 'another embedding model at the configured endpoint; needs the gateway');
}

/** The changes that the options describe. @throws UsageError for files that cannot be read */
export function changesOf(options: ChangeOptions): ReplayChanges {
  const { weights, without, model } = options;
  const breakers = breakersOf(options);
  return {
    ...(weights && { weights }),
    ...(breakers && { breakers }),
    ...(options.routes !== undefined && { routes: readRoutes(options.routes) }),
    ...(without && { without }),
    ...(options.agents && { agents: options.agents.map(readDescriptor) as ReplayChanges['agents'] }),
    ...(model !== undefined && { embeddings: { model } }),
  };
}

function breakersOf(options: ChangeOptions): ReplayChanges['breakers'] {
  const { breaker: states, ignoreBreakers: ignore, bypassShare, recoveryShare } = options;
  const changed = {
    ...(ignore && { ignore }),
    ...(bypassShare !== undefined && { bypass_share: bypassShare }),
    ...(recoveryShare !== undefined && { recovery_share: recoveryShare }),
    ...(states && { states }),
  };
  return Object.keys(changed).length > 0 ? changed : undefined;
}

function readRoutes(file: string): ReplayChanges['routes'] {
  let document: unknown;
  try {
    document = JSON.parse(readText(file));
  } catch (caught) {
    if (caught instanceof UsageError) throw caught;
    throw new UsageError(`${file} is no JSON; write {"routes": […]}, as agent-reach routes list --json prints it`);
  }
  const routes = Array.isArray(document) ? document : (document as { routes?: unknown } | null)?.routes;
  if (!Array.isArray(routes)) throw new UsageError(`${file} must hold {"routes": […]}, as PUT /v1/routes takes it`);
  return routes as ReplayChanges['routes'];
}

function readDescriptor(file: string): unknown {
  return parseDescriptor(readText(file), file.endsWith('.json') ? 'json' : 'yaml').descriptor;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read`);
  }
}

function parseWeights(text: string): Record<string, number> {
  const weights: Record<string, number> = {};
  for (const part of text.split(',')) {
    const [name = '', value = ''] = part.trim().split('=');
    const factor = FACTORS.find((one) => one === name || one.startsWith(`${name}_`));
    if (!factor || !/^\d+(\.\d+)?$/.test(value))
      throw new InvalidArgumentError(
        `write it as ${FACTORS[0]}=0.4,${FACTORS[1]}=0.4; the factors are ${FACTORS.join(', ')}`,
      );
    weights[factor] = Number(value);
  }
  return weights;
}

function collectBreaker(text: string, previous: BreakerState[] = []): BreakerState[] {
  const parts = /^([a-z0-9_-]+(?:#[^/=]+)?)(?:\/([^=]+))?=(open|closed|bypass)(?::(\d(?:\.\d+)?))?$/.exec(text);
  if (!parts)
    throw new InvalidArgumentError(
      'write it as refund_agent=open, refund_agent/refund=closed or refund_agent=bypass:0.05',
    );
  const [, agent = '', ability, state, share] = parts;
  const one = {
    agent,
    ...(ability !== undefined && { ability }),
    state: state as BreakerState['state'],
    ...(share !== undefined && { share: parseShare(share) }),
  };
  return [...previous, one];
}

function parseShare(text: string): number {
  const share = /^\d(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (share >= 0 && share <= 1) return share;
  throw new InvalidArgumentError('a share from 0 to 1, such as 0.05');
}

function collect(text: string, previous: string[] = []): string[] {
  return [...previous, text];
}
