import { effectiveStatus, type StatusInputs } from './effective-status';

const REGISTERED = '2026-01-01T00:00:00.000Z';
const REPORTED = '2026-01-01T00:01:00.000Z';
const HEALTH = '2026-01-01T00:02:00.000Z';
const FULL = '2026-01-01T00:03:00.000Z';
const unprobed: StatusInputs['health'] = { state: 'unknown', since: '', reason: '' };
const failing: StatusInputs['health'] = { state: 'failing', since: HEALTH, reason: 'answered HTTP 500' };
const base: StatusInputs = {
  reported: { status: 'ready', since: REPORTED },
  registeredAt: REGISTERED,
  inFlight: 0,
  fullSince: null,
  maxConcurrency: 4,
  health: unprobed,
  ejected: null,
  gone: null,
};
const ejected = { since: FULL, reason: 'ejected after 5 failures in a row, back at 00:03:30 UTC' };

it.each<[string, Partial<StatusInputs>, ReturnType<typeof effectiveStatus>]>([
  ['as reported', {}, { status: 'ready', status_reason: 'reported ready', since: REPORTED }],
  [
    'busy as reported',
    { reported: { status: 'busy', since: REPORTED } },
    { status: 'busy', status_reason: 'reported busy', since: REPORTED },
  ],
  [
    'full, whatever was reported',
    { inFlight: 4 },
    { status: 'busy', status_reason: '4 in flight of at most 4', since: REPORTED },
  ],
  [
    'full by our own count',
    { inFlight: 5, fullSince: FULL },
    { status: 'busy', status_reason: '5 in flight of at most 4', since: FULL },
  ],
  [
    'never full without a limit',
    { inFlight: 500, maxConcurrency: null },
    { status: 'ready', status_reason: 'reported ready', since: REPORTED },
  ],
  [
    'draining, even when full',
    { inFlight: 9, reported: { status: 'draining', since: REPORTED } },
    {
      status: 'draining',
      status_reason: 'reported draining: finishes its work and takes nothing new',
      since: REPORTED,
    },
  ],
  [
    'failing, whatever was reported',
    { health: failing, inFlight: 9 },
    { status: 'unavailable', status_reason: 'health check failing: answered HTTP 500', since: HEALTH },
  ],
  [
    'ejected, whatever was reported',
    { ejected, inFlight: 9, reported: { status: 'draining', since: REPORTED } },
    { status: 'unavailable', status_reason: ejected.reason, since: FULL },
  ],
  [
    'failing before ejected',
    { ejected, health: failing },
    { status: 'unavailable', status_reason: 'health check failing: answered HTTP 500', since: HEALTH },
  ],
  [
    'gone before all else',
    { ejected, health: failing, gone: { cause: 'expired', at: FULL, lastStatus: 'busy' } },
    { status: 'expired', status_reason: 'its lease expired; last reported busy', since: FULL },
  ],
  [
    'a static address',
    { reported: null },
    { status: 'ready', status_reason: 'static address, not probed', since: REGISTERED },
  ],
  [
    'a static address that passes',
    { reported: null, health: { state: 'passing', since: HEALTH, reason: '' } },
    { status: 'ready', status_reason: 'health check passing', since: HEALTH },
  ],
  [
    'a static address that is full',
    { reported: null, inFlight: 4, fullSince: FULL },
    { status: 'busy', status_reason: '4 in flight of at most 4', since: FULL },
  ],
])('%s', (_name, inputs, expected) => {
  expect(effectiveStatus({ ...base, ...inputs })).toEqual(expected);
});
