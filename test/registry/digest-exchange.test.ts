/** What a process tells the others, with digests of any size, through a real etcd. */
import { randomBytes } from 'node:crypto';
import { putOp } from '../../src/registry/etcd/etcd-ops';
import { DigestExchange, type DigestSource } from '../../src/registry/stats/digest-exchange';
import { eventually, placesForEachTest, type Place } from './support';

const open = placesForEachTest();

/** Tells texts by agent, each again only when it was taken back or everything is lost. */
class Texts implements DigestSource {
  readonly what = 'texts';
  readonly takenBack: string[][] = [];
  private readonly untold = new Set<string>();
  private readonly exchange: DigestExchange;

  constructor(
    place: Place,
    private readonly texts: Map<string, string>,
  ) {
    this.exchange = new DigestExchange({ ...place.options, publishIntervalMs: 20 }, this);
    place.onClose(() => this.exchange.stop());
    this.forgetTold();
  }

  start = () => this.exchange.start();
  prefixOf: DigestSource['prefixOf'] = (keys) => keys.stats;
  advance = () => undefined;
  apply = () => undefined;
  forgetTold(): void {
    for (const name of this.texts.keys()) this.untold.add(name);
  }
  set(name: string, text: string): void {
    this.texts.set(name, text);
    this.untold.add(name);
  }
  publication: DigestSource['publication'] = (leaseId) => {
    const { keys, processId } = this.exchange;
    const names = [...this.untold];
    this.untold.clear();
    return {
      writes: new Map(
        names.map((name) => [name, [putOp(keys.digest(processId, name), this.texts.get(name)!, leaseId)]]),
      ),
      takeBack: (lost) => {
        this.takenBack.push([...lost]);
        for (const name of lost) this.untold.add(name);
      },
    };
  };
}

const stored = async ({ etcd, options }: Place) => {
  const { kvs } = await etcd.getAll().prefix(`${options.keyPrefix}/default/stats/`).exec();
  return new Map(kvs.map((kv) => [kv.key.toString().split('/').at(-1)!, kv]));
};
const kib = (count: number) => randomBytes(count * 512).toString('hex');
const warnings = ({ options }: Place) => options.logger.lines.filter(({ message }) => message.includes('published'));

it('one digest that etcd does not take is told of, and keeps no other from being written, or makes it be written again', async () => {
  const place = open();
  const texts = new Texts(
    place,
    new Map([['huge', kib(1_600)], ...[1, 2, 3].map((n) => [`a${n}`, kib(300)] as const)]),
  );
  await texts.start();
  await eventually(() => warnings(place).length > 0);
  const before = await stored(place);
  expect([...before.keys()]).toEqual(['a1', 'a2', 'a3']);
  expect(warnings(place)).toEqual([
    {
      message: 'texts could not be published; trying again',
      details: { error: expect.any(Error) as Error, failures: 5, agents: ['huge'], agentCount: 1 },
    },
  ]);
  const times = texts.takenBack.length;
  await eventually(() => texts.takenBack.length >= times + 3);
  expect(texts.takenBack.every((lost) => lost.length === 1 && lost[0] === 'huge')).toBe(true);
  expect([...(await stored(place)).values()].map((kv) => kv.mod_revision)).toEqual(
    [...before.values()].map((kv) => kv.mod_revision),
  );
  texts.set('huge', 'small again');
  await eventually(async () => (await stored(place)).get('huge')?.value.toString() === 'small again');
  const end = texts.takenBack.length;
  texts.set('a1', 'after');
  await eventually(async () => (await stored(place)).get('a1')?.value.toString() === 'after');
  expect(texts.takenBack).toHaveLength(end);
});

it('a part that failed is told again, without what was written before it', async () => {
  const place = open();
  const { kv } = place.etcd;
  const txn = kv.txn.bind(kv);
  let calls = 0;
  jest.spyOn(kv, 'txn').mockImplementation(async (request) => {
    if (++calls === 2) throw new Error('etcd is away');
    return txn(request);
  });
  const names = ['a1', 'a2', 'a3', 'a4'];
  const texts = new Texts(place, new Map(names.map((name) => [name, kib(400)])));
  await texts.start();
  await eventually(async () => (await stored(place)).size === 4);
  expect(texts.takenBack).toEqual([['a2', 'a3', 'a4']]);
  expect(calls).toBe(2 + 3);
  expect(warnings(place)).toEqual([]);
});
