import { createColors } from 'picocolors';
import { ReachError } from '../../protocol/reach-error';
import type { Diagnosis } from '../../protocol/shapes';
import { renderDiagnosis, shortMessage } from './diagnosis';
import { renderError } from './error';

const place = { columns: undefined, color: createColors(false) };

it('shows what the candidates of an open match are sorted by', () => {
  const near = (ability: string, score: number, confidence: number) => ({
    ability,
    agent_name: ability,
    agent_version: '1.0.0',
    score,
    confidence,
  });
  const candidates = [near('rain', 0.2, 0.16), near('sums', 0.4, 0.04), near('songs', 0, 0)];
  const diagnosis: Diagnosis = { reason: 'off_topic', message: 'nothing fits', candidates };
  const rows = renderDiagnosis(diagnosis, place).split('\n').slice(1);
  expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
    ['NEAREST', 'AGENT', 'SHARE', 'SCORE', 'CONFIDENCE'],
    ['rain', 'rain#1.0.0', '80 %', '0.200', '0.160'],
    ['sums', 'sums#1.0.0', '10 %', '0.400', '0.040'],
    ['songs', 'songs#1.0.0', '-', '0.000', '0.000'],
    [expect.stringMatching(/^best first by SHARE, .* confidence = score × share$/)],
  ]);
});

const unheard: Diagnosis = {
  reason: 'never_registered',
  message: 'no agent is ready for ocr: reader 1.0.0: no instance has ever registered',
  advice: 'start an instance that registers itself',
  agents: [
    {
      agent_name: 'reader',
      agent_version: '1.0.0',
      status: 'never_registered',
      since: null,
      detail: 'no instance has ever registered',
    },
  ],
};

it('promises nothing where nobody has ever been, and says what to do', () => {
  const told = renderError(new ReachError('no_ready_instance', unheard.message, { diagnosis: unheard }), place.color);
  expect(told).not.toContain('may work');
  expect(told).toContain('advice  start an instance that registers itself');
  const busy = new ReachError('no_ready_instance', 'all are busy', { retryAfterMs: 1_000 });
  expect(renderError(busy, place.color)).toContain('the same request may work in 1.0 s');
});

it.each(['busy since 12:03:01 UTC: in_flight 4 of 4', 'busy since 12:03:01: in_flight 4 of 4'])(
  'leaves the time to its own column: %s',
  (detail) => {
    const agents = [{ ...unheard.agents![0]!, status: 'busy', since: new Date().toISOString(), detail }];
    const told = renderDiagnosis({ reason: 'not_ready', message: 'busy', agents }, place);
    expect(told).toMatch(/ busy +\d+ s ago +- +in_flight 4 of 4$/m);
  },
);

test('advice that the message ends with is said once, on its own line', () => {
  const advice = 'name the ability that is meant';
  const ambiguous = { reason: 'ambiguous' as const, message: 'several abilities fit as well', advice };
  expect(shortMessage(`several abilities fit as well; ${advice}`, ambiguous)).toBe('several abilities fit as well');
  expect(shortMessage('several abilities fit as well', ambiguous)).toBe('several abilities fit as well');
});
