import { expect, test, vi } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import type { Actor } from '../../../src/campaign/states/actor.js';
import { openNumberDigests } from '../../../src/engine/suppression/number-digests.js';
import { type NewOperation, suppression } from '../../../src/engine/suppression/suppression.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('suppression');
const open = (name: string) => suppression(redis, keyNames(`${prefix}-${name}`));

const number = (at: number): string => `+4477${10_000_000 + at}`;
const SHOP: Actor = { kind: 'key', id: '0123456789ab', name: 'shop' };
const byShop = (max: number, list: string | null = null): NewOperation => ({
  ...SUPPRESSING,
  list,
  actor: SHOP,
  max,
});
const listed = async (list: ReturnType<typeof open>, lane: string | null = null): Promise<string[]> => {
  const numbers: string[] = [];
  for await (const each of list.list(lane)) numbers.push(each);
  return numbers.sort();
};

test('Numbers are suppressed from when they are added until they are removed, and each change is counted', async () => {
  const list = open('changes');
  expect(await list.add([number(1), number(2), '+999999999999999'], SUPPRESSING)).toMatchObject({
    numbers: 3,
  });
  expect(await list.add([number(2), number(3), number(3)], SUPPRESSING)).toMatchObject({ numbers: 1 });
  expect(await list.count('main')).toBe(4);
  const checked = [number(0), number(1), '+999999999999999', '+999999999999998'];
  expect(await list.areSuppressed('main', checked)).toEqual([false, true, true, false]);
  expect(await list.remove([number(1), number(7)], SUPPRESSING)).toMatchObject({ numbers: 1 });
  expect(await list.areSuppressed('main', [number(1), number(2)])).toEqual([false, true]);
});

test('The list of a lane holds for this lane only, and that of the installation for all', async () => {
  const list = open('lanes');
  await list.add([number(1)], { ...SUPPRESSING, list: 'main' });
  await list.add([number(2)], SUPPRESSING);
  const numbers = [number(1), number(2), number(3)];
  expect(await list.areSuppressed('main', numbers)).toEqual([true, true, false]);
  expect(await list.areSuppressed('other', numbers)).toEqual([false, true, false]);
  expect([await list.count('main'), await list.count('other')]).toEqual([2, 1]);
  expect(await list.remove([number(2)], { ...SUPPRESSING, list: 'main' })).toMatchObject({ numbers: 0 });
  expect(await list.areSuppressed('main', numbers)).toEqual([true, true, false]);
  expect([await listed(list), await listed(list, 'main')]).toEqual([[number(2)], [number(1)]]);
});

test('More numbers than fit in one command can be added, checked, listed, and undone', async () => {
  const list = open('many');
  const numbers = Array.from({ length: 2_500 }, (_, at) => number(at));
  const added = await list.add(numbers, SUPPRESSING);
  expect(added.numbers).toBe(2_500);
  const found = await list.areSuppressed('main', [...numbers, number(2_500)]);
  expect(found).toEqual([...numbers.map(() => true), false]);
  expect(await listed(list)).toEqual([...numbers].sort());
  await list.add([number(2_500)], SUPPRESSING);
  expect(await list.undo(added, SHOP, 1)).toBe(2_500);
  expect(await listed(list)).toEqual([number(2_500)]);
});

test('An empty list suppresses no numbers', async () => {
  const list = open('empty');
  expect(await list.areSuppressed('main', [number(1)])).toEqual([false]);
  expect(await list.areSuppressed('main', [])).toEqual([]);
  expect(await listed(list)).toEqual([]);
});

test('An entry points to the operation that added it, and an operation says who, when, and why', async () => {
  const list = open('records');
  const made = { ...SUPPRESSING, actor: SHOP, source: 'opt-outs.csv', reason: 'STOP', at: 42 };
  const first = await list.add([number(1), number(2)], made);
  const second = await list.add([number(2)], SUPPRESSING);
  expect(await list.operationsOf(number(2), null)).toMatchObject([
    { id: first.id, change: 'add', actor: SHOP, source: 'opt-outs.csv', reason: 'STOP', at: 42, numbers: 2 },
  ]);
  expect(await list.operation(second.id)).toMatchObject({ numbers: 0 });
  expect(await list.operationsOf(number(3), null)).toEqual([]);
  const newestFirst: string[] = [];
  for await (const { id } of list.operations()) newestFirst.push(id);
  expect(newestFirst).toEqual([second.id, first.id]);
});

test('Undoing an addition leaves the numbers that another operation added, before it or since', async () => {
  const list = open('undo');
  const before = await list.add([number(1)], SUPPRESSING);
  const wrong = await list.add([number(1), number(2), number(3)], SUPPRESSING);
  const after = await list.add([number(3)], SUPPRESSING);
  expect(await list.undo(wrong, SHOP, 7)).toBe(1);
  expect(await listed(list)).toEqual([number(1), number(3)]);
  expect(await list.operation(wrong.id)).toMatchObject({ undone: { actor: SHOP, at: 7, numbers: 1 } });
  // A number that several have added stays until it is removed.
  expect([await list.undo(before, SHOP, 8), await list.undo(after, SHOP, 9)]).toEqual([0, 0]);
  expect(await list.remove([number(1), number(3)], SUPPRESSING)).toMatchObject({ numbers: 2 });
  expect(await listed(list)).toEqual([]);
});

test('A removed number that several operations had added returns when the removal is undone', async () => {
  const list = open('returned');
  const first = await list.add([number(1), number(2)], SUPPRESSING);
  await list.add([number(1)], SUPPRESSING);
  const removal = await list.remove([number(1), number(2)], SUPPRESSING);
  await list.undo(first, SHOP, 1);
  expect(await list.undo(removal, SHOP, 2)).toBe(1);
  expect(await listed(list)).toEqual([number(1)]);
});

test('A number stays suppressed while one of many additions is not undone', async () => {
  const list = open('many');
  const additions = [];
  for (let times = 0; times < 7; times += 1) additions.push(await list.add([number(1)], SUPPRESSING));
  const [first, second, ...others] = additions;
  for (const addition of [first, ...others]) if (addition !== undefined) await list.undo(addition, SHOP, 1);
  expect(second).toBeDefined();
  expect(await list.areSuppressed('main', [number(1)])).toEqual([true]);
  await list.remove([number(1)], SUPPRESSING);
  expect(await list.areSuppressed('main', [number(1)])).toEqual([false]);
});

test('Undoing a removal puts the numbers back, but not those whose addition was undone meanwhile', async () => {
  const list = open('undo-removal');
  const first = await list.add([number(1)], SUPPRESSING);
  await list.add([number(2)], SUPPRESSING);
  const removal = await list.remove([number(1), number(2), number(3)], SUPPRESSING);
  expect(removal.numbers).toBe(2);
  await list.undo(first, SHOP, 1);
  expect(await list.undo(removal, SHOP, 2)).toBe(1);
  expect(await listed(list)).toEqual([number(2)]);
  expect((await list.operationsOf(number(2), null)).map(({ numbers }) => numbers)).toEqual([1]);
});

test('The numbers of a removal are kept for 30 days, and then deleted', async () => {
  const list = open('kept');
  await list.add([number(1)], SUPPRESSING);
  const removal = await list.remove([number(1)], SUPPRESSING);
  const key = keyNames(`${prefix}-kept`).suppression.removed(removal.id);
  const left = await redis.pttl(key);
  expect(left).toBeGreaterThan(29.9 * 86_400_000);
  expect(left).toBeLessThanOrEqual(30 * 86_400_000);
});

test('A list that is too long for an API key is read no further than its limit', async () => {
  const list = open('long');
  const numbers = Array.from({ length: 5_000 }, (_, at) => number(at));
  Object.defineProperty(numbers, 4_000, {
    get() {
      throw new Error('the list is read beyond the limit');
    },
  });
  await expect(list.add(numbers, byShop(2_500))).rejects.toThrow('at most 2500 numbers');
  expect(await list.add(numbers.slice(0, 2_500), byShop(2_500))).toMatchObject({ numbers: 2_500 });
});

test('An API key adds at most as many numbers as it may, over all lists and requests', async () => {
  const list = open('limit');
  const own = await list.add([number(1), number(2)], byShop(3));
  // Numbers that are on the list already cost nothing.
  await expect(list.add([number(1), number(2), number(3)], byShop(3, 'main'))).rejects.toThrow(
    'at most 3 numbers',
  );
  expect(await listed(list, 'main')).toEqual([]);
  const again = await list.add([number(1), number(2), number(3)], byShop(3));
  expect(again.numbers).toBe(1);
  await expect(list.add([number(4)], byShop(3, 'main'))).rejects.toThrow('at most 3 numbers');
  // It limits no other key.
  expect(await list.add([number(4)], SUPPRESSING)).toMatchObject({ numbers: 1 });
  await list.undo(own, SHOP, 1);
  // They are still on the list because of the other operation of this key.
  await expect(list.add([number(5)], byShop(3))).rejects.toThrow('at most 3 numbers');
  await list.undo(again, SHOP, 1);
  await list.remove([number(1), number(2)], SUPPRESSING);
  expect(await list.add([number(5), number(6), number(7)], byShop(3))).toMatchObject({ numbers: 3 });
  await list.remove([number(5)], SUPPRESSING);
  expect(await list.add([number(8)], byShop(3))).toMatchObject({ numbers: 1 });
  await expect(list.add([number(9)], byShop(3))).rejects.toThrow('at most 3 numbers');
  const many = Array.from({ length: 2_500 }, (_, at) => number(10_000 + at));
  await expect(list.add(many, byShop(2_000))).rejects.toThrow('nothing was changed');
  expect(await list.count('other')).toBe(4);
});

test('Numbers that an API key removes count against its limit for as long as they are kept', async () => {
  const list = open('removals');
  await list.add([number(1), number(2), number(3)], SUPPRESSING);
  // Its own numbers move from the list to the removed ones; those of others are new.
  await list.add([number(4), number(5)], byShop(3));
  const own = await list.remove([number(4)], byShop(3));
  expect(own.numbers).toBe(1);
  expect((await list.remove([number(1)], byShop(3))).numbers).toBe(1);
  await expect(list.remove([number(2)], byShop(3))).rejects.toThrow('at most 3 numbers');
  await expect(list.add([number(6)], byShop(3))).rejects.toThrow('at most 3 numbers');
  expect(await listed(list)).toEqual([number(2), number(3), number(5)]);
  // A number that is put back is not kept twice, and undoing removals returns their room.
  const keys = keyNames(`${prefix}-removals`).suppression;
  const stored = () => redis.hget(keys.addedBy, '0123456789ab');
  expect([await list.undo(own, SHOP, 1), await stored()]).toEqual([1, '3']);
  for (const id of await redis.zrange(keys.removals, '0', '-1')) await redis.zadd(keys.removals, 1, id);
  expect((await list.add([number(6)], byShop(3))).numbers).toBe(1);
  expect(await redis.zcard(keys.removals)).toBe(0);
  await expect(list.add([number(7)], byShop(3))).rejects.toThrow('at most 3 numbers');
});

test('A number that stays suppressed by its digest is not suppressed by a later operation alone', async () => {
  const list = open('kept');
  const digest = (await openNumberDigests(redis, keyNames(`${prefix}-kept`)))(number(1));
  await list.keep(digest, null, 0);
  await list.forget([number(1)], [null, 'main'], { digest, at: 0 }, (text) => text);
  const { id } = await list.add([number(1), number(2)], { ...SUPPRESSING, list: 'main' });
  expect(await list.isOnlyBy(id, 'main', number(1))).toBe(false);
  expect(await list.isOnlyBy(id, 'main', number(2))).toBe(true);
  expect(await list.hasNone(null, [number(1)])).toBe(false);
});

test('A number is suppressed by an operation alone until another operation adds it', async () => {
  const list = open('alone');
  const { id } = await list.add([number(1)], { ...SUPPRESSING, list: 'main' });
  expect(await list.isOnlyBy(id, 'main', number(1))).toBe(true);
  const { id: later } = await list.add([number(1)], { ...SUPPRESSING, list: 'main' });
  expect(await list.isOnlyBy(id, 'main', number(1))).toBe(false);
  expect(await list.isOnlyBy(later, 'main', number(1))).toBe(false);
});

test.each([
  ['earlier', 1_000, 3_000],
  ['later', 3_000, 1_000],
])(
  'Of two stop words that are added at the same time, a start word lifts the later one: the %s is first',
  async (_, firstAt, secondAt) => {
    const list = open(`stops-${firstAt}`);
    for (const receivedAt of [firstAt, secondAt]) await list.add([number(1)], { ...SUPPRESSING, receivedAt });
    const [stored] = await list.operationsOf(number(1), null);
    expect(stored).toMatchObject({ receivedAt: 3_000 });
    const lift = async (upTo: number) =>
      stored !== undefined && list.lift(stored, number(1), SHOP, { at: 4_000, upTo });
    expect([await lift(2_000), await list.areSuppressed('main', [number(1)])]).toEqual([false, [true]]);
    expect([await lift(3_500), await list.areSuppressed('main', [number(1)])]).toEqual([true, [false]]);
  },
);

test('A stop word for a number that is on the list keeps it there when the earlier addition is undone', async () => {
  const list = open('stopped-again');
  const wrong = await list.add([number(1), number(2)], SUPPRESSING);
  await list.add([number(1)], { ...SUPPRESSING, receivedAt: 1_000 });
  await list.undo(wrong, SHOP, 1);
  expect(await list.areSuppressed('main', [number(1), number(2)])).toEqual([true, false]);
});

test('A stop word is renewed although its record changes at the same time', async () => {
  const list = open('renewed-at-once');
  const operation = await list.add([number(1)], { ...SUPPRESSING, receivedAt: 1_000 });
  const run = redis.evalsha.bind(redis);
  vi.spyOn(redis, 'evalsha').mockImplementationOnce(async (...args: Parameters<typeof run>) => {
    await list.renew(operation, number(1), 2_000);
    return run(...args);
  });
  expect(await list.renew(operation, number(1), 3_000)).toBe(true);
  expect(await list.operation(operation.id)).toMatchObject({ receivedAt: 3_000 });
  await list.remove([number(1)], SUPPRESSING);
  expect(await list.renew(operation, number(1), 4_000)).toBe(false);
});

test('A stop word that is renewed while its number is being added stays as late as it is', async () => {
  const list = open('renewed');
  await list.add([number(9)], SUPPRESSING);
  const run = redis.evalsha.bind(redis);
  vi.spyOn(redis, 'evalsha').mockImplementationOnce(async (...args: Parameters<typeof run>) => {
    const reply = await run(...args);
    const [operation] = await list.operationsOf(number(1), null);
    if (operation !== undefined) await list.renew(operation, number(1), 3_000);
    return reply;
  });
  const { id } = await list.add([number(1)], { ...SUPPRESSING, receivedAt: 1_000 });
  const stored = await list.operation(id);
  expect(stored).toMatchObject({ receivedAt: 3_000, numbers: 1 });
  // A start word that arrived between the two is carried out late.
  expect(stored && (await list.lift(stored, number(1), SHOP, { at: 4_000, upTo: 2_000 }))).toBe(false);
  expect(await list.areSuppressed('main', [number(1)])).toEqual([true]);
});

test.each([
  ['+5215512345678', '+525512345678'],
  ['+551187654321', '+5511987654321'],
  ['+541123456789', '+5491123456789'],
])(
  'A subscriber who has %s and %s is suppressed, found, and taken off under each of them',
  async (former, current) => {
    const list = open(`forms-${current}`);
    const isSuppressed = () => list.areSuppressed('main', [number(1), former, number(2), current]);
    for (const [added, other] of [
      [former, current],
      [current, former],
    ] as const) {
      const operation = await list.add([added], { ...SUPPRESSING, receivedAt: 1 });
      expect(await isSuppressed()).toEqual([false, true, false, true]);
      // A single number is checked on another path.
      expect(await list.areSuppressed('main', [other])).toEqual([true]);
      expect((await list.operationsOf(other, null)).map(({ id }) => id)).toEqual([operation.id]);
      expect(await list.isOnlyBy(operation.id, 'main', other)).toBe(true);
      expect(await list.renew(operation, other, 2)).toBe(true);
      expect(await list.hasNone(null, [other])).toBe(false);
      expect(await list.undo(operation, SHOP, 3)).toBe(1);
      expect(await isSuppressed()).toEqual([false, false, false, false]);

      const again = await list.add([added], SUPPRESSING);
      expect(await list.lift(again, other, SHOP, { at: 4, upTo: 4 })).toBe(true);
      expect(await isSuppressed()).toEqual([false, false, false, false]);

      await list.add([added], SUPPRESSING);
      const removal = await list.remove([other], SUPPRESSING);
      expect([removal.numbers, ...(await isSuppressed())]).toEqual([1, false, false, false, false]);
      await list.undo(removal, SHOP, 5);
      expect(await isSuppressed()).toEqual([false, true, false, true]);
      await list.remove([other], SUPPRESSING);
      const digest = (await openNumberDigests(redis, keyNames(`${prefix}-forms-${current}`)))(added);
      await list.keep(digest, null, 0);
      await list.forget([added], [null, 'main'], { digest, at: 0 }, (text) => text);
      expect(await isSuppressed()).toEqual([false, true, false, true]);
      await list.remove([other], SUPPRESSING);
      expect(await isSuppressed()).toEqual([false, false, false, false]);
    }
  },
);

test('Half of a surrogate pair in a reason or in the name of an actor does not lock the numbers of the operation', async () => {
  const list = open('half-a-pair');
  const named = { ...SUPPRESSING, reason: 'asked \ud83d', actor: { ...SHOP, name: '\udc4d' } };
  const { id } = await list.add([number(1)], named);
  expect(await list.add([number(1)], SUPPRESSING)).toMatchObject({ numbers: 0 });
  expect(await list.remove([number(1)], SUPPRESSING)).toMatchObject({ numbers: 1 });
  expect(await list.operation(id)).toMatchObject({ reason: 'asked \ufffd' });
});

/** Runs something right after the next script. */
function afterNextScript(then: () => Promise<unknown>): void {
  const run = redis.evalsha.bind(redis);
  vi.spyOn(redis, 'evalsha').mockImplementationOnce(async (...args: Parameters<typeof run>) => {
    const reply = await run(...args);
    await then();
    return reply;
  });
}
const undoNewest = async (list: ReturnType<typeof open>): Promise<void> => {
  for await (const operation of list.operations()) {
    await list.undo(operation, SHOP, 1);
    return;
  }
};

test('A stop word that arrives while a number is being forgotten that was not suppressed stays', async () => {
  const list = open('stopped-meanwhile');
  const digest = (await openNumberDigests(redis, keyNames(`${prefix}-stopped-meanwhile`)))(number(1));
  const read = redis.hmget.bind(redis);
  vi.spyOn(redis, 'hmget').mockImplementationOnce(async (...args: Parameters<typeof read>) => {
    const values = await read(...args);
    await list.add([number(1)], { ...SUPPRESSING, receivedAt: 1_000 });
    return values;
  });
  await list.forget([number(1)], [null], { digest, at: 0 }, (text) => text);
  expect(await listed(list)).toEqual([number(1)]);
});

test('Removing a number that stays suppressed by its digest is recorded and counted, and cannot be undone', async () => {
  const list = open('removed-digest');
  const digest = (await openNumberDigests(redis, keyNames(`${prefix}-removed-digest`)))(number(1));
  await list.keep(digest, null, 0);
  const removal = await list.remove([number(1)], SUPPRESSING);
  expect(removal).toMatchObject({ numbers: 1 });
  expect(await list.operation(removal.id)).toMatchObject({ change: 'remove', numbers: 1 });
  expect(await list.areSuppressed('main', [number(1)])).toEqual([false]);
  expect(await list.undo(removal, SHOP, 1)).toBe(0);
});

test('A removal that is refused leaves numbers suppressed that were forgotten', async () => {
  const list = open('refused-removal');
  const digestOf = await openNumberDigests(redis, keyNames(`${prefix}-refused-removal`));
  await list.keep(digestOf(number(0)), null, 0);
  const numbers = Array.from({ length: 1_001 }, (_, at) => number(at));
  await list.add(numbers.slice(1), SUPPRESSING);
  await expect(list.remove(numbers, byShop(999))).rejects.toThrow('nothing was changed');
  expect(await list.areSuppressed('main', numbers)).toEqual(numbers.map(() => true));
});

test('An addition whose numbers cannot be read to their end adds none, so that it can be repeated and undone', async () => {
  const list = open('unreadable');
  async function* numbers() {
    yield [number(1), number(2)];
    throw new Error('Line 3 is not valid UTF-8.');
  }
  await expect(list.addBatches(numbers(), SUPPRESSING)).rejects.toThrow('Line 3');
  expect(await listed(list)).toEqual([]);
  const again = await list.add([number(1), number(2), number(3)], SUPPRESSING);
  expect(again.numbers).toBe(3);
  expect(await list.undo(again, SHOP, 1)).toBe(3);
});

test('An addition that is undone while it is running ends, and leaves no number on the list', async () => {
  const list = open('undone-running');
  async function* numbers() {
    yield [number(1)];
    await undoNewest(list);
    yield [number(2)];
  }
  await expect(list.addBatches(numbers(), SUPPRESSING)).rejects.toThrow('was undone while it was running');
  expect(await listed(list)).toEqual([]);
});

test('Numbers that an addition gets after undoing it has begun do not stay on the list', async () => {
  const list = open('undone-late');
  let [scanned, added] = [() => {}, () => {}];
  const whenScanned = new Promise<void>((resolve) => {
    scanned = resolve;
  });
  const whenAdded = new Promise<void>((resolve) => {
    added = resolve;
  });
  const scan = redis.hscanBuffer.bind(redis);
  vi.spyOn(redis, 'hscanBuffer').mockImplementationOnce(async (...args: Parameters<typeof scan>) => {
    const found = await scan(...args);
    scanned();
    await whenAdded;
    return found;
  });
  async function* numbers() {
    yield [number(1)];
    const undoing = undoNewest(list);
    await whenScanned;
    yield [number(2)];
    added();
    await undoing;
  }
  const { id } = await list.addBatches(numbers(), SUPPRESSING);
  expect(await listed(list)).toEqual([]);
  expect(await list.operation(id)).toMatchObject({ numbers: 2, undone: { actor: SHOP, numbers: 2 } });
});

test('A removal that is undone while it is running puts all of its numbers back', async () => {
  const list = open('undone-removal');
  const numbers = Array.from({ length: 1_001 }, (_, at) => number(at));
  await list.add(numbers, SUPPRESSING);
  afterNextScript(() => undoNewest(list));
  await expect(list.remove(numbers, SUPPRESSING)).rejects.toThrow('was undone while it was running');
  expect(await listed(list)).toEqual(numbers);
});
