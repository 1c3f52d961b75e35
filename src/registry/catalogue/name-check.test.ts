import fc from 'fast-check';
import { closestNames } from '../../protocol/nearest';
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
  expect(performance.now() - startedMs).toBeLessThan(250);
  expect(nearMisses.map(({ pointer, fix }) => [pointer, fix])).toEqual([
    ['/capabilities/0/name', "use 'intent_classify' if the same ability is meant"],
    ['/capabilities/1/name', "use 'ability_7_of_team_3' if the same ability is meant"],
  ]);
});

it('the candidates include every near miss, as long as they are not too many', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd', '_'), minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(name, fc.uniqueArray(name, { maxLength: 40 }), (wanted, names) => {
      const candidates = new NameIndex().candidates(wanted, names);
      expect(closestNames(wanted, candidates, 40)).toEqual(closestNames(wanted, names, 40));
    }),
  );
});
