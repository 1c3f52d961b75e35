import fc from 'fast-check';
import { cataloguePage } from './catalogue-page';

test('all at once without a limit', () => {
  expect(cataloguePage([{ name: 'b' }, { name: 'a' }], {})).toEqual({ items: [{ name: 'a' }, { name: 'b' }] });
  expect(cataloguePage([], { limit: 3 })).toEqual({ items: [] });
});

test('pages, one after the other, are the whole list, each name once', () => {
  const names = fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }), { maxLength: 20 });
  fc.assert(
    fc.property(names, fc.integer({ min: 1, max: 7 }), (list, limit) => {
      const items = list.map((name) => ({ name }));
      const read: string[] = [];
      let cursor: string | undefined;
      do {
        const page = cataloguePage(items, { cursor, limit });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        read.push(...page.items.map(({ name }) => name));
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      expect(read).toEqual(list.toSorted());
    }),
  );
});
