import { EventEmitter, once } from 'node:events';
import type { Etcd3 } from 'etcd3';
import { systemClock } from '../clock';
import { PrefixMirror, type MirrorChange } from './prefix-mirror';

/** What etcd does once it was asked for a watch. */
type Script = (stream: ScriptedStream) => void;

/** A watch stream that says what a script tells it to. */
class ScriptedStream extends EventEmitter {
  cancelled = false;

  constructor(private readonly script: Script) {
    super();
  }

  write(request: object): void {
    if ('create_request' in request) setImmediate(() => this.script(this));
  }

  cancel(): void {
    this.cancelled = true;
  }

  confirm(): void {
    this.say({ created: true });
  }

  put(key: string, revision: number): void {
    this.say({
      events: [{ type: 'Put', kv: { key: Buffer.from(key), value: Buffer.from('v'), mod_revision: revision } }],
    });
  }

  private say(part: object): void {
    this.emit('data', { created: false, canceled: false, events: [], ...part });
  }
}

const live: Script = (stream) => stream.confirm();
/** Says nothing until the test does. */
const silent: Script = () => undefined;
/** Confirmed, and gone before anybody could be told so. */
const stillborn: Script = (stream) => {
  stream.confirm();
  stream.put('/p/early', 11);
  stream.emit('error', new Error('the member was stopped'));
};

/** A mirror of an etcd without keys, whose watches follow the scripts; the last script serves all further ones. */
function mirrorOf(...scripts: [Script, ...Script[]]) {
  const streams: ScriptedStream[] = [];
  const opened = new EventEmitter();
  const watch = () => {
    const stream = new ScriptedStream(scripts[Math.min(streams.length, scripts.length - 1)]!);
    streams.push(stream);
    opened.emit('watch', stream);
    return Promise.resolve(stream);
  };
  const range = () => Promise.resolve({ header: { revision: '10' }, kvs: [], more: false });
  const gaps: unknown[] = [];
  const quiet = () => undefined;
  const changes: MirrorChange[] = [];
  const mirror = new PrefixMirror({
    etcd: { kv: { range }, watchClient: { watch } } as unknown as Etcd3,
    prefix: '/p/',
    refreshIntervalMs: 60_000,
    logger: { debug: quiet, info: quiet, error: quiet, warn: (facts) => void gaps.push(facts) },
    clock: systemClock,
    onChanges: (these) => void changes.push(...these),
  });
  return {
    mirror,
    streams,
    opened,
    gaps,
    keys: () => changes.map(({ key, entry }) => (entry === null ? `-${key}` : key)),
  };
}

/** Until everything that is under way without a timer has come to pass. */
const settled = async () => {
  for (let n = 0; n < 5; n++) await new Promise(setImmediate);
};

it('lists anew once more when the watch that mended a gap has one itself before it is told of', async () => {
  const { mirror, streams, opened, gaps, keys } = mirrorOf(live, stillborn, silent);
  await mirror.start();
  const second = once(opened, 'watch');
  streams[0]!.emit('error', new Error('connection lost'));
  await second;
  await settled();
  expect(mirror.staleness().connected).toBe(false);
  expect(gaps).toHaveLength(2);
  if (streams.length < 3) await once(opened, 'watch');
  await settled();
  streams[2]!.confirm();
  await settled();
  expect(mirror.staleness().connected).toBe(true);
  expect(streams.map(({ cancelled }) => cancelled)).toEqual([true, true, false]);
  streams[2]!.put('/p/late', 12);
  expect(keys()).toEqual(['/p/early', '-/p/early', '/p/late']);
  await mirror.stop();
});

it('is not in step when the first watch has a gap at once, and comes into step by itself', async () => {
  const { mirror, streams, opened } = mirrorOf(stillborn, stillborn, live);
  await mirror.start();
  expect(mirror.staleness().connected).toBe(false);
  while (streams.length < 3) await once(opened, 'watch');
  await settled();
  expect(mirror.staleness().connected).toBe(true);
  await mirror.stop();
});

it('stops in the midst of gaps', async () => {
  const { mirror, streams } = mirrorOf(stillborn);
  await mirror.start();
  await mirror.stop();
  const { length } = streams;
  await settled();
  expect([mirror.staleness().connected, streams.length]).toEqual([false, length]);
});
