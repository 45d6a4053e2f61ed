import { expect, test } from 'vitest';
import { inboundStore } from '../../../src/engine/inbound/inbound-store.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import {
  ADA,
  ada,
  enqueue,
  IN_AN_HOUR,
  type Installation,
  installation,
  LANE,
  others,
} from './installation.js';
import { HOLDS, kindOf, kindsInCode, NEVER } from './key-kinds.js';

const server = testRedis('forget-kinds');
const { redis } = server;

/** Every kind of key that may contain a number, with the number in it. Returns the campaign in which it is planned. */
async function everything(own: Installation): Promise<string> {
  const { volley, keys, stored, instance } = own;
  const planned = await enqueue(
    own,
    [...others(5), ada, { ...ada, to: '07700 900123' }, ...others(300).slice(5)],
    {
      idempotencyKey: 'spring',
      skipInvalid: true,
    },
  );
  await enqueue(own, [ada], { idempotencyKey: 'only' });
  // One whose batch was refused with a reason that names the number.
  const refused = await enqueue(own, [...others(3), ada]);
  const ended = { state: 'completed', endedAt: 1 };
  await stored.settle(refused, 'RRRR', { ...ended, record: '4,1,0,no such number: 447700900123,request-1' });
  const onlyRefused = await enqueue(own, [ada]);
  const record = '1,1,0,no such number: 447700900123,request-2';
  await stored.settle(onlyRefused, 'R', { ...ended, record });

  await volley.outboxes.create({ name: 'box', message: 'Hi {{name}}' });
  const outbox = volley.outbox('box');
  await outbox.put({ ...ada, id: 'waiting', sendAt: IN_AN_HOUR });
  await outbox.put({ ...ada, id: 'cancelled', sendAt: IN_AN_HOUR });
  await outbox.cancel('cancelled');
  await outbox.put({ ...ada, id: 'due' });

  const schedule = { cron: '0 9 * * 1', zone: 'Europe/London', message: 'Hi {{name}}' };
  await volley.schedules.add({
    ...schedule,
    id: 'weekly',
    recipients: [...others(2), { to: '07700 900 123', name: 'Zebedea' }] as never,
  });
  const [ref = ''] = await redis.zrange(keys.schedules.ids, '0', '0');
  await redis.hset(keys.schedules.one(ref), 'reason', 'line 3: 07700-900123 cannot be used');
  const occurrence = { at: 1, outcome: 'failed', reason: 'line 3: 07700-900123 cannot be used' };
  await redis.zadd(keys.schedules.occurrences(ref), 1, JSON.stringify(occurrence));

  const reason = 'complaint of 07700 900123';
  await volley.holdLane(LANE, reason);
  await redis.hset(keys.lane(LANE, 'callback'), 'detail', reason);
  await stored.put('unknown', '7', {
    campaign: refused,
    first: 0,
    count: 1,
    reason,
    at: 1,
    turn: 't',
    since: 1,
    safeAt: 1,
  });
  const paused = await enqueue(own, others(2));
  await stored.changeState(paused, { state: 'paused', pauseReason: reason });
  instance.events.emit({ type: 'lane.stopped', lane: LANE, reason });

  const letters = { '447700900123': 'T', '447700900124': 'T' };
  await stored.put('early', 'early', { sender: '', letters, at: 1 });

  await redis.set(keys.stopConfirmed(ADA.number), 'default digest');
  const inbound = inboundStore(redis, keys, LANE);
  const reply = { from: ADA.number, to: '12345', text: 'I am Zebedea' };
  const whole = await inbound.receive({ ...reply, messageId: 'whole' });
  if (whole !== undefined && whole !== 'busy') await inbound.log(whole, { ...reply, id: 'whole', at: 1 });
  await inbound.receive({ ...reply, messageId: 'part', part: { reference: 1, number: 1, total: 2 } });

  await volley.suppression.add([ADA.number, '+447700900124'], { reason: 'asked for by +44 7700 900123' });
  await volley.suppression.add([ADA.number], { lane: LANE });
  await enqueue(own, [...others(2), ada]);
  await volley.suppression.remove([ADA.number], { lane: LANE });

  await redis.sadd(keys.recordsCredentials, 'credential');
  await redis.zadd(keys.records('credential', 'all'), 1, 'r1');
  await redis.hset(keys.records('credential', 'request:r1'), {
    ...{ id: 'r1', lane: LANE, state: 'downloaded', from: '2026-01-01', to: '2026-01-31', key: 'digest' },
    ...{ parameters: '{"number":"447700900123"}', claimedUntil: 0, sentAt: 1, createdAt: 1, updatedAt: 1 },
  });
  return planned;
}

test('Each kind of key that code can make is known, and said to contain numbers or not', () => {
  const known = new Set<string>([...HOLDS, ...Object.keys(NEVER)]);
  expect(kindsInCode().filter((kind) => !known.has(kind))).toEqual([]);
});

test('A number is found in every kind of key before it is forgotten, and in none afterwards', async () => {
  const own = installation(server, 'all');
  const { volley, withAda } = own;
  const planned = await everything(own);
  const all = await keysOf(redis, own.prefix);
  const kinds = new Set(
    [...all].map((key) => kindOf(key.replace(`${own.prefix}:`, '').replace(own.prefix, ''))),
  );
  expect(
    [...kinds].filter((kind) => !(HOLDS as readonly string[]).includes(kind) && !(kind in NEVER)),
  ).toEqual([]);
  const before = await withAda();
  expect([...new Set(before.map(kindOf))].sort()).toEqual([...HOLDS].sort());

  const [ref = ''] = await redis.zrange(own.keys.schedules.ids, '0', '0');
  const revision = () => redis.hget(own.keys.schedules.one(ref), 'revision');
  const listRevision = await revision();
  const totals = (await volley.status(planned)).counts.total;
  const result = await volley.forget('07700 900123');
  // It was on a list.
  expect(result).toMatchObject({ lane: null, cancelled: 4, open: 0, suppressed: true });
  expect(await withAda()).toEqual([]);
  // A worker that has read the list of the schedule before creates no campaign of it.
  expect(Number(await revision())).toBe(Number(listRevision) + 1);
  await own.resume();
  expect(await withAda()).toEqual([]);

  const { counts } = await volley.status(planned);
  expect(counts).toMatchObject({ total: totals, cancelled: 1, planned: totals - 1 });
  const rows: string[] = [];
  for await (const { to, status, reference } of volley.report(planned))
    rows.push(`${to} ${status} ${reference ?? ''}`);
  expect(rows.filter((row) => row.startsWith('null'))).toEqual(['null cancelled ', 'null duplicate ']);
  expect(rows.filter((row) => / planned ref-/.test(row))).toHaveLength(totals - 1);
  expect(await volley.outbox('box').message('waiting')).toMatchObject({ state: 'cancelled', to: null });
  expect(await volley.suppression.entries('+447700900124')).toHaveLength(1);
  expect((await volley.schedules.get('weekly')).recipients).toEqual({ kind: 'inline', recipientCount: 2 });
});
