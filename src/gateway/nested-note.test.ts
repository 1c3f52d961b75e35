import type { WorkflowExecutionDescription } from '@temporalio/client';
import { ReachError } from '../protocol/reach-error';
import { noteBeside, type NoteOptions } from './nested-note';

const call = { runId: 'run', attempt: 2 };
const joining = { parent: 'above', child: 'below', tree: { run: 'run', limit: 3 }, ttlMs: 1_000 };

function parentThat(status: string, { cancelRequested = false, runId = 'run' } = {}): WorkflowExecutionDescription {
  return {
    runId,
    status: { name: status },
    raw: { workflowExtendedInfo: { cancelRequested } },
  } as unknown as WorkflowExecutionDescription;
}

function world(parent: () => Promise<WorkflowExecutionDescription>, { underWay = false, failures = 0 } = {}) {
  const notes: string[] = [];
  const looks: string[] = [];
  let tries = 0;
  const options: NoteOptions = {
    tree: {
      join: async ({ child }) => {
        tries += 1;
        if (tries <= failures) throw new ReachError('engine_unavailable', 'etcd does not answer');
        notes.push(child);
      },
    },
    reader: {
      describe: async (id: string) => {
        looks.push(id);
        return parent();
      },
    },
    callsUnderWay: { has: () => underWay },
    againAfterMs: [1, 1, 1],
  };
  return { options, notes, looks, tried: () => tries };
}

const never = () => {
  throw new Error('nobody was to be told');
};

it('asks the server for nothing while the call is under way here', async () => {
  const { options, notes, looks } = world(never, { underWay: true });
  await expect(noteBeside(options, { joining, call, late: never })).resolves.toEqual({ cancelled: false });
  expect(notes).toEqual(['below']);
  expect(looks).toEqual([]);
});

it.each([
  ['is cancelled', parentThat('CANCELLED'), true],
  ['is being cancelled', parentThat('RUNNING', { cancelRequested: true }), true],
  ['has gone on', parentThat('RUNNING'), false],
  ['has its answer', parentThat('COMPLETED'), false],
  ['was begun anew after a cancelled run', parentThat('CANCELLED', { runId: 'another' }), false],
])('looks at the parent once more when its call has ended: one that %s', async (_what, parent, cancelled) => {
  const { options, notes, looks } = world(async () => parent);
  await expect(noteBeside(options, { joining, call, late: never })).resolves.toEqual({ cancelled });
  expect([notes, looks]).toEqual([['below'], ['above']]);
});

it('a server that does not answer has cancelled nothing', async () => {
  const { options } = world(() => Promise.reject(new Error('no answer')));
  await expect(noteBeside(options, { joining, call, late: never })).resolves.toEqual({ cancelled: false });
});

it('a note that failed holds up nobody, is tried again, and then tells of a parent that was cancelled', async () => {
  const { options, notes, tried } = world(async () => parentThat('CANCELLED'), { failures: 2 });
  const told = new Promise<void>((late) => {
    void noteBeside(options, { joining, call, late }).then(({ cancelled }) => expect(cancelled).toBe(false));
  });
  await told;
  expect([notes, tried()]).toEqual([['below'], 3]);
});
