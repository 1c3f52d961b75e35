import fc from 'fast-check';
import { nearMiss } from '../../protocol/near-miss';
import { descriptorSchema } from '../../protocol/descriptor';
import { checkNames } from './name-check';
import { NameIndex } from './name-index';

const descriptor = (...capabilities: string[]) =>
  descriptorSchema.parse({ name: 'new', version: '1.0.0', capabilities });
const known = (...names: string[]) => ({
  abilities: new Map(names.map((name) => [name, 'owner'])),
  agents: new Set(['owner']),
});

it('says where each collision is and with what', () => {
  const { collisions } = checkNames(descriptor('translate', 'Invoice_OCR'), known('invoice-ocr'), new NameIndex());
  expect(collisions).toEqual([
    {
      pointer: '/capabilities/1/name',
      message: "'Invoice_OCR' reads the same as 'invoice-ocr', which is already registered",
      fix: expect.stringContaining("'invoice-ocr' exactly"),
    },
  ]);
});

it('finds a near miss among thousands of names, quickly', () => {
  const names = Array.from({ length: 5_000 }, (_, n) => `ability_${n % 50}_of_team_${Math.floor(n / 50)}`);
  const catalogue = known(...names, 'intent_classify');
  const index = new NameIndex();
  checkNames(descriptor('warm_up'), catalogue, index);
  const startedMs = performance.now();
  const { nearMisses } = checkNames(
    descriptor('intent_classification', 'ability_7_of_taem_3', 'quite_unrelated'),
    catalogue,
    index,
  );
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  expect(nearMisses.map(({ pointer, fix }) => [pointer, fix])).toEqual([
    ['/capabilities/0/name', "use 'intent_classify' if the same ability is meant"],
    ['/capabilities/1/name', "use 'ability_7_of_team_3' if the same ability is meant"],
  ]);
});

it('the candidates include every near miss, as long as they are not too many', () => {
  const word = fc.constantFrom(
    'refund',
    'refudn',
    'refunds',
    'order',
    'orders',
    'agent',
    'v2',
    'search',
    'serach',
    '退款',
    '查询',
    '查詢',
  );
  const name = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join('_'));
  fc.assert(
    fc.property(name, fc.uniqueArray(name, { maxLength: 40 }), (wanted, names) => {
      const near = (list: readonly string[]) =>
        list.filter((other) => other !== wanted && nearMiss(wanted, other) !== null);
      expect(near(new NameIndex().candidates(wanted, names)).toSorted()).toEqual(near(names).toSorted());
    }),
  );
});

describe('near misses', () => {
  it('of agents and of abilities within one descriptor are told as well', () => {
    const draft = descriptorSchema.parse({
      name: 'refund_agnet',
      version: '1.0.0',
      capabilities: ['a_translate', 'a_translation'],
    });
    const { nearMisses } = checkNames(
      draft,
      { abilities: new Map(), agents: new Set(['refund_agent']) },
      new NameIndex(),
    );
    expect(nearMisses.map(({ pointer, message }) => [pointer, message])).toEqual([
      ['/name', "agent 'refund_agnet' is near agent 'refund_agent' (spelling)"],
      [
        '/capabilities/1/name',
        "ability 'a_translation' is near 'a_translate', which stands earlier in this descriptor (ending)",
      ],
    ]);
  });

  it('are not told of what is registered under the very name, nor of names that are meant to differ', () => {
    const told = (name: string, ...others: string[]) =>
      checkNames(descriptor(name), known(...others), new NameIndex()).nearMisses;
    expect(told('intent_classify', 'intent_classify', 'intent_classification')).toEqual([]);
    expect(told('refund_create', 'refund_cancel', 'refund', 'refund_query', 'order_create')).toEqual([]);
    expect(told('退款创建', '退款取消', '退货创建')).toEqual([]);
    expect(told('退款查詢', '退款查询')).toHaveLength(1);
  });
});
