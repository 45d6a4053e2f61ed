import { expect, test, vi } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { inboundStore, type ReceivedPart } from '../../../src/engine/inbound/inbound-store.js';
import { usedBytes } from '../../../src/engine/recipients/key-bytes.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { storedLane } from '../../scene/stored.js';

const { redis, prefix } = testRedis('inbound-store');
const keys = keyNames(prefix);
const open = (lane: string) => inboundStore(redis, keys, lane);
const stored = (id: string) => storedLane({ redis, keys, id });

const message = (messageId: string, more: Partial<ReceivedPart> = {}): ReceivedPart => ({
  messageId,
  from: '+447700900123',
  to: '+447700900999',
  text: 'Hello',
  ...more,
});
const part = (messageId: string, number: number, text: string) =>
  message(messageId, { text, part: { reference: 7, number, total: 2 } });
const entry = { id: 'm', from: '+447700900123', to: '+447700900999', text: 'Hello', at: 1 };
const KEPT_MS = 86_400_000;

test('A message that no process has logged in time is taken by another one, and logged once', async () => {
  const store = open('overdue');
  const received = await store.receive(message('a'));
  // The lease of the first process still runs.
  expect([await store.receive(message('a')), await store.takeOverdue(KEPT_MS)]).toEqual(['busy', []]);
  await stored('overdue').editPending({ lease: 0 });
  const [taken] = await store.takeOverdue(KEPT_MS);
  expect(taken).toEqual(received);
  if (taken === undefined) throw new Error('nothing is overdue');
  const positions = await Promise.all([store.log(taken, entry), store.log(taken, entry)]);
  expect(positions.filter((position) => position === '')).toHaveLength(1);
  expect(await store.receive(message('a'))).toBeUndefined();
  expect(await store.before(undefined, 10)).toHaveLength(1);
});

test('A lease lasts no longer than usual when the clock of Redis is set while it runs', async () => {
  const store = open('clock');
  const received = await store.receive(message('c'));
  const HOUR_MS = 3_600_000;
  await stored('clock').editPending({ lease: Date.now() + HOUR_MS });
  expect(await store.receive(message('c'))).toEqual(received);
  await stored('clock').editPending({ lease: Date.now() + HOUR_MS });
  expect(await store.takeOverdue(KEPT_MS)).toEqual([received]);
  expect(await store.receive(message('c'))).toBe('busy');
});

test('A message whose part does not come is taken without it', async () => {
  const store = open('missing');
  await store.receive(part('b', 2, 'world'));
  await stored('missing').editPending({ at: 0 });
  expect(await store.takeOverdue(KEPT_MS)).toMatchObject([{ messageId: 'b', text: '[…]world' }]);
});

test('A later message with the same reference does not get the parts of an earlier one', async () => {
  const store = open('reused');
  await store.receive(part('old-1', 1, 'old '));
  await store.receive(part('new-1', 1, 'new '));
  expect(await store.receive(part('new-2', 2, 'text'))).toMatchObject({ text: 'new text' });
  expect(await store.receive(part('old-1', 1, 'old '))).toBeUndefined();
});

test('A part that the network delivers twice, under different ids, is one part', async () => {
  const store = open('twice');
  await store.receive(part('a-1', 1, 'one '));
  await store.receive(part('a-2', 1, 'one '));
  expect(await store.receive(part('b', 2, 'message'))).toMatchObject({ text: 'one message' });
  expect(Object.keys(await stored('twice').pendingMessages())).toHaveLength(1);
});

test('A message is logged although a later one with the same reference has arrived since', async () => {
  const store = open('same-reference');
  const whole = { reference: 0, number: 1, total: 1 };
  const stop = await store.receive(message('first', { text: 'Stop', part: whole }));
  const thanks = await store.receive(message('second', { text: 'Thanks', part: whole }));
  for (const received of [stop, thanks])
    if (typeof received === 'object') await store.log(received, { ...entry, text: received.text });
  const logged = await store.after('0-0', 10);
  expect(logged.map(({ text }) => text)).toEqual(['Stop', 'Thanks']);
  expect(await stored('same-reference').pendingMessages()).toEqual({});
});

test('The log is read by position, and old messages are deleted with all that is known of them', async () => {
  const store = open('log');
  for (const id of ['c', 'd', 'e']) {
    const received = await store.receive(message(id));
    if (typeof received === 'object') await store.log(received, { ...entry, id });
  }
  const [first, ...rest] = await store.after('0-0', 10);
  expect([first?.id, rest.map(({ id }) => id)]).toEqual(['c', ['d', 'e']]);
  expect((await store.after(first?.position ?? '', 10)).map(({ id }) => id)).toEqual(['d', 'e']);
  expect((await store.before(rest[0]?.position, 10)).map(({ id }) => id)).toEqual(['c']);
  await expect.poll(() => store.takeOverdue(0).then(() => store.after('0-0', 10))).toEqual([]);
  expect(await redis.hlen(keyNames(prefix).lane('log', 'inboundIds'))).toBe(0);
});

test('A number is erased from every key, and a repeat of its message is not stored again', async () => {
  const store = open('erase');
  const number = '+447700900555';
  const logged = await store.receive(message('f', { from: number }));
  if (typeof logged === 'object') await store.log(logged, { ...entry, from: number });
  const other = await store.receive(message('g'));
  if (typeof other === 'object') await store.log(other, { ...entry, id: 'g' });
  await store.receive({ ...part('h', 1, 'Hi'), from: number });
  const has = async () => {
    const own = (await keysOf(redis, prefix)).filter((key) => key.includes('erase'));
    const values = await Promise.all(own.map((key) => redis.dumpBuffer(key)));
    return values.some((value) => value?.includes('7700900555'));
  };
  expect(await has()).toBe(true);
  expect(await store.erase([number])).toBe(2);
  expect(await has()).toBe(false);
  expect(await store.receive(message('f', { from: number }))).toBeUndefined();
  expect((await store.after('0-0', 10)).map(({ id }) => id)).toEqual(['g']);
});

test('An API key pays for the messages that it submits until they are deleted, and has a limit', async () => {
  const store = open('paid');
  const used = () => usedBytes(redis, keys, 'paid', 'k1');
  const received = await store.receive(message('p'), { key: 'k1', limit: 2_000 });
  expect(await used()).toBeGreaterThan(700);
  // A repeat is paid once.
  const once = await used();
  await store.receive(message('p'), { key: 'k1', limit: 2_000 });
  expect(await used()).toBe(once);
  await expect(
    store.receive(message('q', { text: 'x'.repeat(700) }), { key: 'k1', limit: 2_000 }),
  ).rejects.toThrow('API key k1 has no room left');
  expect(await store.receive(message('q', { text: 'x'.repeat(700) }))).toMatchObject({ messageId: 'q' });
  if (typeof received === 'object') await store.log(received, { ...entry, id: 'p' });
  expect(await used()).toBe(once);
  await expect
    .poll(async () => {
      await store.takeOverdue(1);
      return stored('paid').keyBytes();
    })
    .not.toHaveProperty('used:k1');
});

test('A flood of messages that lack parts is read in steps, so that it blocks neither Redis nor the process', async () => {
  const store = open('flood');
  await store.receive(part('0-1', 1, 'Hello'));
  const [one] = Object.values(await stored('flood').pendingMessages());
  const many = Array.from({ length: 5_000 }, (_, at) => [`message-${at}`, one]);
  const overdue = { ...one, from: '+447700900555', at: 0 };
  await stored('flood').setPending({ ...Object.fromEntries(many), overdue });
  const [scripts, scans, whole] = [
    vi.spyOn(redis, 'evalsha'),
    vi.spyOn(redis, 'hscan'),
    vi.spyOn(redis, 'hgetall'),
  ];
  expect(await store.takeOverdue(KEPT_MS)).toMatchObject([{ from: '+447700900555' }]);
  expect(scripts.mock.calls.length).toBeGreaterThan(20);
  expect(await store.erase(['+447700900555'])).toBe(1);
  expect(scans.mock.calls.length).toBeGreaterThan(5);
  expect(whole).not.toHaveBeenCalled();
});
