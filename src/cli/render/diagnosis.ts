/** Why nobody could be chosen, for people (R22): who is kept out by what and since when, what is near, and what to do next. */
import type { Diagnosis, DiagnosedAgent } from '../../protocol/shapes';
import type { CliIo } from '../io';
import { table } from './table';
import { agentOf, ago, duration, score, SHARE_NOTE, shareOf } from './text';

/** Where it is printed. `columns` undefined: nothing is cut. */
export type Place = Pick<CliIo, 'color' | 'columns'>;

/**
 * Lines without a final newline, maybe none. `said` is what the reader has seen already, and is not said again.
 */
export function renderDiagnosis(diagnosis: Diagnosis, place: Place, said = ''): string {
  const { color } = place;
  const parts: string[] = [];
  if (!said.includes(diagnosis.message) && !said.startsWith(shortMessage(diagnosis.message, diagnosis)))
    parts.push(`${color.yellow(diagnosis.reason.replaceAll('_', ' '))}  ${shortMessage(diagnosis.message, diagnosis)}`);
  if (diagnosis.agents?.length) parts.push(renderAgents(diagnosis, place));
  const near = diagnosis.candidates?.length ? renderCandidates(diagnosis, place) : nearest(diagnosis, color, said);
  if (near) parts.push(near);
  if (diagnosis.available_versions?.length && !said.includes(`there is ${diagnosis.available_versions.join(', ')}`))
    parts.push(`  versions there are: ${diagnosis.available_versions.join(', ')}`);
  if (diagnosis.advice) parts.push(`  ${color.cyan('advice')}  ${diagnosis.advice}`);
  return parts.join('\n');
}

/**
 * A message without what stands below it: the table of agents says better who they are and what keeps each, and the advice
 * has a line of its own. A message of another form is left as it is.
 */
export function shortMessage(message: string, diagnosis: Diagnosis | undefined): string {
  const { agents = [], advice } = diagnosis ?? {};
  const ownLine = advice === undefined ? '' : `; ${advice}`;
  const said = ownLine !== '' && message.endsWith(ownLine) ? message.slice(0, -ownLine.length) : message;
  const at = agents
    .map(({ agent_name, agent_version }) => said.indexOf(`: ${agent_name} ${agent_version}: `))
    .filter((position) => position >= 0);
  return at.length === 0 ? said : said.slice(0, Math.min(...at));
}

const SEARCH = "agent-reach abilities --search 'what it should do'";

/** Commands that lead on from a diagnosis, best first. */
export function nextCommands({ reason, closest = [], agents = [] }: Diagnosis): string[] {
  const [near] = closest;
  const [first] = agents;
  switch (reason) {
    case 'name_mismatch':
      return near ? [`agent-reach abilities ${near.name}`] : ['agent-reach abilities', SEARCH];
    case 'off_topic':
    case 'ambiguous':
      return ['agent-reach abilities', SEARCH];
    case 'agent_unknown':
      return [near ? `agent-reach agents ${near.name}` : 'agent-reach agents'];
    case 'breaker_open':
      return ['agent-reach breakers', ...(first ? [`agent-reach agents ${first.agent_name}`] : [])];
    case 'degraded_mode':
      return ['agent-reach agents', 'agent-reach doctor'];
    case 'delegation_loop':
      return [];
    default:
      return first ? [`agent-reach agents ${first.agent_name}`] : [];
  }
}

function renderAgents({ agents = [], causes = [] }: Diagnosis, place: Place): string {
  const waits = agents.some(({ retry_after_ms }) => retry_after_ms !== undefined);
  const head = ['AGENT', 'STATUS', 'SINCE', 'SAYS', ...(waits ? ['NEXT TRY'] : []), why];
  const rows = agents.map((agent) => [
    agentOf(agent.agent_name, agent.agent_version),
    (agent.status ?? '-').replaceAll('_', ' '),
    agent.since ? ago(agent.since) : '-',
    agent.by ?? '-',
    ...(waits ? [agent.retry_after_ms === undefined ? '-' : `in ${duration(agent.retry_after_ms)}`] : []),
    reasonOf(agent),
  ]);
  const told = table(head, rows, place).replace(/^/gm, '  ');
  const total = causes.reduce((sum, { count }) => sum + count, 0);
  const counts = causes.map(({ message }) => message).join(' · ');
  const more = total > agents.length ? ` (${total - agents.length} not shown)` : '';
  return causes.length > 1 || more ? `${told}\n  ${place.color.dim(counts + more)}` : told;
}

const why = { title: 'WHY', flexible: true } as const;

/** What an open match found, best first. */
function renderCandidates({ candidates = [] }: Diagnosis, place: Place): string {
  const rows = candidates.map((near) => [
    near.ability,
    agentOf(near.agent_name, near.agent_version),
    shareOf(near),
    score(near.score),
    score(near.confidence),
  ]);
  const told = table(['NEAREST', 'AGENT', 'SHARE', 'SCORE', 'CONFIDENCE'], rows, place);
  return `${told}\n${place.color.dim(SHARE_NOTE)}`.replace(/^/gm, '  ');
}

/** The detail without the status and the time, which have columns of their own. */
function reasonOf({ detail, status }: DiagnosedAgent): string {
  const short = (detail || status || '').replace(/^[a-z_]+ since \d\d:\d\d:\d\d(?: UTC)?(: |$)/, '');
  return short || status;
}

function nearest({ closest = [], message }: Diagnosis, color: CliIo['color'], said: string): string {
  return closest
    .filter(({ name }) => !said.includes(`did you mean ${name} (`) && !message.includes(`did you mean ${name} (`))
    .map(({ name, why: near }) => `  did you mean ${color.bold(name)}? ${color.dim(`(${near})`)}`)
    .join('\n');
}
