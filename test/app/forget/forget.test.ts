import { expect, onTestFinished, test } from 'vitest';
import { openForgettingOf } from '../../../src/app/runtime/forgetting.js';
import { openInstance, REAL_TIME } from '../../../src/app/runtime/instance.js';
import { createVolley } from '../../../src/app/runtime.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { inboundStore } from '../../../src/engine/inbound/inbound-store.js';
import { NIGHTLY } from '../../base/parts.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { storedLane } from '../../scene/stored.js';
import { OPERATOR } from '../access/operator.js';
import { keysWith, type Person } from './find-number.js';
import { HOLDS, kindOf, kindsInCode, NEVER } from './key-kinds.js';

const { url, prefix, redis } = testRedis('forget');
const ADA: Person = { number: '+447700900123', texts: ['Zebedea', 'ref-ada'] };
const LANE = 'default';

/** An installation under a prefix of its own. */
function installation(name: string, lanes: readonly string[] = []) {
  const own = `${prefix}-${name}`;
  const config = loadLocalConfig(
    {
      REDIS_URL: url,
      REDIS_PREFIX: own,
      ...(lanes.length === 0 ? { API_KEY: 'key' } : { LANES_FILE: 'lanes.json' }),
      SENDER_ADDRESS: 'ACME',
      DEFAULT_COUNTRY: 'GB',
      MAX_SCHEDULE_AHEAD: '365000d',
    },
    { readFile: () => JSON.stringify(lanes.map((lane) => ({ name: lane, apiKey: lane }))) },
  );
  const events = createEvents({ level: 'silent' });
  const volley = createVolley({ config, events });
  const instance = openInstance({ config, redisUrl: url, events, random: Math.random, time: REAL_TIME });
  let closing: Promise<void> | undefined;
  const closeAll = async (): Promise<void> => {
    await volley.close();
    for (const close of instance.closers.reverse()) await close();
  };
  const close = (): Promise<void> => {
    closing ??= closeAll();
    return closing;
  };
  onTestFinished(close);
  const keys = keyNames(own);
  const withAda = () => keysWith(redis, own, ADA);
  const stored = storedLane({ redis, keys, id: LANE });
  /** Lets the workers look again at what is open, as they do a minute later. */
  const resume = async (): Promise<void> => {
    for (const id of await redis.zrange(keys.forget.due, '0', '-1')) await redis.zadd(keys.forget.due, 0, id);
    await (await openForgettingOf(instance)).resume();
  };
  return { prefix: own, volley, instance, keys, withAda, stored, resume, close };
}

type Installation = ReturnType<typeof installation>;

const others = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    to: `+4477109${String(10_000 + at)}`,
    name: `Other ${at}`,
    reference: `ref-${at}`,
  }));
const ada = { to: ADA.number, name: 'Zebedea', reference: 'ref-ada' };
const AT = '2999-01-01T00:00:00Z';
const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();

let sent = 0;
async function enqueue(
  { volley }: Installation,
  recipients: readonly object[],
  more: object = {},
): Promise<string> {
  sent += 1;
  const message = `Hi {{name}} ${sent}`;
  const outcome = await volley.enqueue({ message, sendAt: AT, recipients: recipients as never, ...more });
  if (!('recipientCount' in outcome)) throw new Error(outcome.code);
  return outcome.id;
}

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
  const own = installation('all');
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

test('A message that was sent is erased when its status is final, and a repeated request changes nothing before', async () => {
  const own = installation('open');
  const { volley, keys, withAda, stored } = own;
  const id = await enqueue(own, [...others(2), ada]);
  await stored.settle(id, 'NNN');
  const first = await volley.forget(ADA.number);
  expect(first).toMatchObject({ state: 'waiting', cancelled: 0, open: 1, endedAt: null });
  const open = [`{${LANE}}:campaign:${id}:slices`];
  expect(await withAda()).toEqual(open);
  expect(await volley.forget('07700 900123')).toEqual(first);
  await own.resume();
  expect(await withAda()).toEqual(open);

  await stored.setLetters(id, 'NNT');
  await own.resume();
  expect(await withAda()).toEqual([]);
  // The others keep theirs: polls need them.
  const rows: string[] = [];
  for await (const { to, status } of volley.report(id)) rows.push(`${to} ${status}`);
  expect(rows).toEqual([
    '+447710910000 deliveredToNetwork',
    '+447710910001 deliveredToNetwork',
    'null deliveredToTerminal',
  ]);
  const [request = ''] = await redis.keys(`{${own.prefix}:forget:all}:request:*`);
  expect(await redis.hgetall(request)).toMatchObject({ state: 'done', erased: '1', cancelled: '0' });
  expect(await redis.hexists(request, 'number')).toBe(0);
  expect(await redis.zscore(keys.removals, 'campaigns')).toBe('1');
});

test('A request that is repeated while an earlier one waits forgets what has come since, and may keep the suppression', async () => {
  const own = installation('since');
  const { volley, keys, withAda, stored } = own;
  const id = await enqueue(own, [...others(2), ada]);
  await stored.settle(id, 'NNN');
  const first = await volley.forget(ADA.number);
  expect(first).toMatchObject({ state: 'waiting', cancelled: 0, suppressed: false });
  await enqueue(own, [ada]);
  expect(await volley.forget(ADA.number, { keepSuppressed: true })).toEqual({
    ...first,
    cancelled: 1,
    erased: 1,
    suppressed: true,
  });
  expect(await withAda()).toEqual([`{${LANE}}:campaign:${id}:slices`]);
  await stored.setLetters(id, 'NNT');
  await own.resume();
  expect(await withAda()).toEqual([]);
  expect(await redis.hlen(keys.suppression.digests)).toBe(1);
});

test('A number that stays suppressed is stored only as a keyed digest, and no list sends to it until it is removed', async () => {
  const own = installation('kept');
  const { volley, withAda, keys } = own;
  await volley.suppression.add([ADA.number], { lane: LANE });
  expect(await volley.forget(ADA.number, { keepSuppressed: true })).toMatchObject({
    state: 'done',
    suppressed: true,
  });
  expect(await withAda()).toEqual([]);
  expect(await redis.hlen(keys.suppression.digests)).toBe(1);
  const statuses = async (id: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const { status } of volley.report(id)) found.push(status);
    return found;
  };
  expect(await statuses(await enqueue(own, [...others(2), ada]))).toEqual([
    'planned',
    'planned',
    'suppressed',
  ]);
  expect(await statuses(await enqueue(own, [ada]))).toEqual(['suppressed']);
  await volley.suppression.remove([ADA.number]);
  expect(await statuses(await enqueue(own, [...others(2), ada]))).toEqual(['planned', 'planned', 'planned']);
});

test('Without that, a new list may contain the number again, and a new request forgets it again', async () => {
  const own = installation('again');
  await enqueue(own, [...others(2), ada]);
  const first = await own.volley.forget(ADA.number);
  expect(first).toMatchObject({ state: 'done', cancelled: 1, erased: 1 });
  await enqueue(own, [...others(2), ada]);
  const second = await own.volley.forget(ADA.number);
  expect(second).toMatchObject({ id: first.id, state: 'done', cancelled: 1, erased: 1 });
  expect(await own.withAda()).toEqual([]);
  await expect(own.volley.forget('no number')).rejects.toThrow('this is not a phone number');
});

test('A number is forgotten with any other that certainly belongs to its subscriber, and found and kept suppressed with it', async () => {
  const own = installation('forms');
  const { volley } = own;
  const [former, current] = ['+551187654321', '+5511987654321'];
  const put = async (name: string, to: string) => {
    await enqueue(own, [...others(2), { to, name }]);
    await volley.outboxes.create({ name, message: 'Hi {{name}}' });
    await volley.outbox(name).put({ id: 'm', to, name, sendAt: IN_AN_HOUR });
    const recipients = [...others(1), { to, name }] as never;
    await volley.schedules.add({
      ...{ id: name, cron: '0 9 * * 1', zone: 'Europe/London', message: 'Hi {{name}}', recipients },
    });
    await volley.inbound.receive({ lane: LANE, messageId: name, from: to, to: '12345', text: 'stop' });
    const letters = { [to.slice(1)]: 'T' };
    await own.stored.put('early', name, { sender: '', letters, at: 1 });
  };
  await put('first', former);
  await put('second', current);
  const find = async (number: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const { to, status } of volley.find(number)) found.push(`${to} ${status}`);
    return found;
  };
  // A recipient of a campaign and a message of an outbox for each, but the second campaign was created when the number was suppressed.
  const all = [`${current} planned`, `${current} suppressed`, `${former} planned`, `${former} planned`];
  for (const number of [former, current]) expect((await find(number)).sort()).toEqual(all.sort());
  const result = await volley.forget(former, { keepSuppressed: true });
  expect(result).toMatchObject({ cancelled: 3, suppressed: true });
  expect((await volley.forget(current)).id).toBe(result.id);
  await own.resume();
  expect(await keysWith(redis, own.prefix, { number: current, texts: [] })).toEqual([]);
  expect(await find(former)).toEqual([]);
  const { suppressed } = await volley.preview({
    recipients: [{ to: former }, { to: current }],
    message: 'Hi',
  });
  expect(suppressed).toBe(1);
});

test('On one lane, a number is forgotten only there, and its request says nothing about other lanes', async () => {
  const own = installation('one-lane', ['east', 'west']);
  const { volley, withAda, keys } = own;
  for (const lane of ['east', 'west']) {
    const id = await enqueue(own, [...others(2), ada], { lane });
    await volley.outboxes.create({ name: 'box', lane, message: 'Hi {{name}}' });
    await volley.outbox('box', { lanes: [lane] }).put({ ...ada, id: 'waiting', sendAt: IN_AN_HOUR });
    await volley.schedules.add({
      ...{ id: 'weekly', lane, cron: '0 9 * * 1', zone: 'Europe/London', message: 'Hi {{name}}' },
      recipients: [...others(1), { to: ADA.number, name: 'Zebedea' }] as never,
    });
    await volley.inbound.receive({ lane, messageId: 'in', from: ADA.number, to: '12345', text: 'Zebedea' });
    await volley.holdLane(lane, 'complaint of 07700 900123');
    await volley.suppression.add([ADA.number], { lane, reason: 'asked for by +44 7700 900123' });
    expect((await volley.status(id)).counts.planned).toBe(3);
  }
  const before = await withAda();
  const isOfEast = (key: string): boolean => key.includes('east') || key.endsWith(':east');
  const east = await volley.forget(ADA.number, { lane: 'east' });
  expect(east).toMatchObject({ lane: 'east', state: 'done', cancelled: 2, suppressed: true });
  const after = await withAda();
  expect(after.filter(isOfEast)).toEqual([]);
  // The other lane still has all of it, and so do the hashes that both share.
  expect(after.filter((key) => key.includes('west'))).toEqual(before.filter((key) => key.includes('west')));
  const { operations } = await volley.suppression.operations({ lanes: ['east'] });
  expect(operations.map(({ reason }) => reason)).toEqual(['asked for by …']);
  expect((await volley.suppression.operations({ lanes: ['west'] })).operations[0]?.reason).toContain(
    '900123',
  );

  const west = await volley.forget(ADA.number, { lane: 'west' });
  expect(west).toMatchObject({ lane: 'west', cancelled: 2 });
  expect(west.id).not.toBe(east.id);
  expect(await withAda()).toEqual([]);
  const everywhere = await volley.forget(ADA.number);
  expect(everywhere).toMatchObject({ lane: null, cancelled: 0, suppressed: true });
  expect([east.id, west.id]).not.toContain(everywhere.id);
  expect(await redis.hlen(keys.suppression.digests)).toBe(2);
  await expect(volley.forget(ADA.number, { lane: 'north' })).rejects.toThrow('there is no lane north');
});

test('A number that is suppressed on a lane stays so after it is forgotten there, unless that is lifted', async () => {
  const own = installation('stop-stays', ['east', 'west']);
  const { volley } = own;
  const suppressedOn = async () => {
    const on: string[] = [];
    for (const lane of ['east', 'west']) {
      const { suppressed } = await volley.preview({ recipients: [{ to: ADA.number }], message: 'Hi', lane });
      if (suppressed === 1) on.push(lane);
    }
    return on;
  };
  await volley.inbound.receive({ lane: 'east', messageId: 'in', from: ADA.number, to: '1', text: 'STOP' });
  expect(await suppressedOn()).toEqual(['east']);
  const at = Date.now();
  expect(await volley.forget(ADA.number, { lane: 'west' })).toMatchObject({ suppressed: false });
  expect(await volley.forget(ADA.number, { lane: 'east' })).toMatchObject({ suppressed: true });
  expect(await own.withAda()).toEqual([]);
  expect(await suppressedOn()).toEqual(['east']);
  const [entry, ...others] = await volley.suppression.entries(ADA.number);
  expect(others).toEqual([]);
  expect(entry).toMatchObject({ lane: 'east', forgotten: true, operations: [] });
  expect(Date.parse(entry?.since ?? '')).toBeGreaterThanOrEqual(at - 1_000);

  // Nothing but that lifts it: not another request, nor one for another lane.
  expect(await volley.forget(ADA.number, { lane: 'east' })).toMatchObject({ suppressed: true });
  await volley.forget(ADA.number, { lane: 'west', liftSuppression: true });
  expect(await suppressedOn()).toEqual(['east']);
  const lifted = await volley.forget(ADA.number, { lane: 'east', liftSuppression: true });
  expect(lifted).toMatchObject({ suppressed: false });
  expect(await suppressedOn()).toEqual([]);
  expect(await volley.forget(ADA.number, { lane: 'west', keepSuppressed: true })).toMatchObject({
    suppressed: true,
  });
  expect(await suppressedOn()).toEqual(['west']);
  await volley.suppression.remove([ADA.number], { lane: 'west' });
  expect(await suppressedOn()).toEqual([]);
  const both = { keepSuppressed: true, liftSuppression: true };
  await expect(volley.forget(ADA.number, both)).rejects.toThrow('not both');
});

test('A number that may belong to another person is not forgotten', async () => {
  const own = installation('argentina');
  const numbers = ['+541123456789', '+5491123456789'] as const;
  await enqueue(own, [...others(2), ...numbers.map((to) => ({ to, name: 'Zebedea' }))]);
  expect(await own.volley.forget(numbers[0])).toMatchObject({ cancelled: 1, erased: 1 });
  const found: string[] = [];
  for await (const { to } of own.volley.find(numbers[1])) found.push(`${to}`);
  expect(found).toEqual([numbers[1]]);
});

/** A connection of a process that is killed when it sends its command number `last`. */
function dyingAfter(instance: Installation['instance'], last: number): Installation['instance'] {
  let sentCommands = 0;
  const redis = new Proxy(instance.redis, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || name === 'on') return member;
      return (...args: unknown[]) => {
        sentCommands += 1;
        if (sentCommands > last) throw new Error('killed');
        return member.apply(target, args);
      };
    },
  });
  return {
    ...instance,
    redis,
    finder: { ...instance.finder, withId: async (id) => ({ ...(await instance.finder.withId(id)), redis }) },
  };
}

/** Of the writes after which it is killed, every fourth one; in the nightly checks, each. */
const STEP = NIGHTLY ? 1 : 4;

test('Wherever the process is killed, a worker forgets the number completely, and each message is cancelled once', async () => {
  let [last, isDone, runs] = [1, false, 0];
  const counted = new Set<string>();
  while (!isDone) {
    runs += 1;
    const own = installation(`killed-${last}`);
    const { volley, keys, instance } = own;
    const id = await enqueue(own, [...others(1), ada, ...others(3).slice(1), ada], { duplicates: 'keep' });
    await volley.outboxes.create({ name: 'box', message: 'Hi {{name}}' });
    await volley.outbox('box').put({ ...ada, id: 'waiting', sendAt: IN_AN_HOUR });
    const dying = await openForgettingOf(dyingAfter(instance, last));
    await dying.forget(ADA.number, {}, OPERATOR).then(
      () => {
        isDone = true;
      },
      (error: Error) => expect(error.message).toBe('killed'),
    );
    const [request] = await redis.keys(`{${own.prefix}:forget:all}:request:*`);
    if (request !== undefined) {
      // The lease of the process that was killed expires.
      await redis.unlink(keys.forget.lease(request.split(':').at(-1) ?? ''));
      await own.resume();
      expect([last, await own.withAda()]).toEqual([last, []]);
      const { counts } = await volley.status(id);
      expect([last, counts.cancelled, counts.planned]).toEqual([last, 1, 3]);
      const { state, cancelled, erased, ...rest } = await redis.hgetall(request);
      expect([last, state, cancelled]).toEqual([last, 'done', '2']);
      expect(Object.keys(rest).sort()).toEqual(['createdAt', 'cursor', 'endedAt', 'keep', 'step']);
      counted.add(erased ?? '');
    }
    await own.close();
    last += STEP;
  }
  expect(runs).toBeGreaterThan(40 / STEP);
  // However often it was killed, what it has erased was counted once.
  expect([...counted]).toHaveLength(1);
});
