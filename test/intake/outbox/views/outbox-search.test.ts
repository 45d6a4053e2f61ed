import { expect, test } from 'vitest';
import { indexOutbox } from '../../../../src/intake/outbox/definition/outbox-index.js';
import { outboxSearch } from '../../../../src/intake/outbox/views/outbox-search.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { NOW, outboxFixture } from '../outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-search');
const { number: ADA } = NOW;
const BEA = '+447700900124';
const anySender = (): boolean => true;

async function searched() {
  const own = await outboxFixture(redis, prefix);
  await indexOutbox(redis, own.keys, own.laneId, own.name);
  const search = outboxSearch(redis, own.keys);
  const find = async (number: string) => {
    const found = [];
    for await (const each of search.find([number], { lanes: [own.laneId] })) found.push(each);
    return found.sort((a, b) => String(a.message).localeCompare(String(b.message)));
  };
  /** Sends one message after the other. */
  const send = async (id: string, result: 'accepted' | 'unknown', number = ADA) => {
    await own.put(id, undefined, { number, reference: `ref-${id}` });
    const claims = await own.claim();
    await own.settle(claims, result);
    own.advance(1_000);
    return claims[0]?.number;
  };
  return { ...own, search, find, send };
}

test('Messages to a number are found in every state, with what is known of their requests', async () => {
  const own = await searched();
  const [accepted, unknown] = [await own.send('a', 'accepted'), await own.send('b', 'unknown')];
  await own.send('other', 'accepted', BEA);
  await own.put('c', 60_000);
  expect(await own.cancel('c')).toBe('cancelled');
  await own.put('d', 60_000);
  const named = { campaign: null, name: null, outbox: 'dentist' };
  expect(await own.find(ADA)).toMatchObject([
    { ...named, message: 'a', status: 'deliveredToNetwork', requestId: `r-${accepted}`, reference: 'ref-a' },
    { ...named, message: 'b', status: 'unknown', requestId: `outbox:dentist-${unknown}` },
    { ...named, message: 'c', status: 'cancelled', sentAt: null, reason: 'cancelled before it was sent' },
    { ...named, message: 'd', status: 'planned', sentAt: null, requestId: null },
  ]);
});

test('A person replies to the message that was sent last to the number, from that sender', async () => {
  const own = await searched();
  await own.send('a', 'accepted');
  await own.send('b', 'unknown');
  await own.send('other', 'accepted', BEA);
  await own.put('waiting', 60_000);
  expect(await own.search.lastSent(own.laneId, [ADA], anySender)).toMatchObject({
    outbox: 'dentist',
    message: 'b',
    number: ADA,
    reference: 'ref-b',
    sender: '12345',
  });
  expect(await own.search.lastSent(own.laneId, [ADA], (sender) => sender === '999')).toBeNull();
  expect(await own.search.lastSent(own.laneId, ['+447700900199'], anySender)).toBeNull();
});

test('A person replies to the sender that a message had, although the outbox has another by now', async () => {
  const own = await searched();
  await own.send('a', 'accepted');
  await own.set({ sender: '999' });
  const last = (sender: string) => own.search.lastSent(own.laneId, [ADA], (one) => one === sender);
  expect([await last('12345'), await last('999')]).toMatchObject([{ message: 'a', sender: '12345' }, null]);
});

test('The messages since a time are those that were claimed then or later, whatever became of them', async () => {
  const own = await searched();
  await own.send('a', 'accepted');
  const from = own.now();
  await own.send('b', 'unknown');
  await own.put('c');
  await own.claim();
  await own.put('waiting', 60_000);
  const all = await own.messages();
  const entries = ['b', 'c'].map((id) => `${own.laneId} outbox:dentist ${all.get(id)?.number}`);
  expect((await own.search.sentSince(own.laneId, ADA, from)).toSorted()).toEqual(entries.toSorted());
});
