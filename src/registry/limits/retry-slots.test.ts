import { decodeSlot, encodeSlot, SlotBook } from './retry-slots';

const own = (holder: string, isShared = true, untilMs = 100) => ({ holder, isShared, untilMs });

it('counts each slot once, and a number that two hold for two', () => {
  const book = new SlotBook(4);
  book.shared.set(0, 'a').set(1, 'b');
  book.own.set(1, own('b')).set(2, own('c', false));
  book.claiming.set(2, 'c');
  expect([book.outstanding(), book.free()]).toEqual([3, [3]]);
  book.shared.set(2, 'd');
  expect([book.outstanding(), book.free()]).toEqual([4, []]);
});

it('names the slot a holder has, its own word first', () => {
  const book = new SlotBook(4);
  book.shared.set(3, 'a');
  expect(book.slotOf('a')).toBe(3);
  book.own.set(1, own('a'));
  expect([book.slotOf('a'), book.slotOf('b')]).toEqual([1, null]);
});

it('without etcd goes by what it gave out itself, unseen numbers first', () => {
  const book = new SlotBook(3);
  book.shared.set(0, 'x').set(1, 'y').set(2, 'z');
  book.own.set(0, own('x'));
  book.shared.delete(2);
  expect(book.ungiven()).toEqual([2, 1]);
  book.expire(100);
  expect([book.own.size, book.isEmpty]).toEqual([0, false]);
});

describe('what was given back', () => {
  it('is owed to etcd while that holds it for the same holder', () => {
    const book = new SlotBook(4);
    book.give(0, own('a'));
    book.give(1, own('b', false));
    book.see(2, 'c');
    for (const [slot, holder] of ['a', 'b', 'c'].entries()) book.giveBack(slot, holder);
    book.giveBack(2, 'somebody else');
    expect([...book.owed]).toEqual([
      [0, 'a'],
      [2, 'c'],
    ]);
    expect(book.own.size).toBe(0);
    book.see(0, null);
    book.see(2, 'd');
    expect([...book.owed]).toEqual([]);
  });

  it('is owed no more when its holder gets it again', () => {
    const book = new SlotBook(4);
    book.give(0, own('a'));
    book.giveBack(0, 'a');
    expect(book.isEmpty).toBe(false);
    book.give(0, own('a'));
    expect([...book.owed]).toEqual([]);
  });
});

it.each(['a', 'ünï/"', ''])('reads back the holder %j', (holder) => {
  expect(decodeSlot(Buffer.from(encodeSlot(holder)))).toBe(holder);
});
it.each(['', '{}', '{"v":2,"holder":"a"}', 'null'])('cannot read %j', (text) => {
  expect(decodeSlot(Buffer.from(text))).toBeNull();
});
