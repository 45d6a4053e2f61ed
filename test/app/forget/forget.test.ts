import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { keysWith } from './find-number.js';
import { ADA, ada, enqueue, IN_AN_HOUR, installation, LANE, others } from './installation.js';

const server = testRedis('forget');
const { redis } = server;

test('A message that was sent is erased when its status is final, and a repeated request changes nothing before', async () => {
  const own = installation(server, 'open');
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
  const own = installation(server, 'since');
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

test('A number that a list has more often than one step takes is forgotten everywhere in it', async () => {
  const own = installation(server, 'often');
  const rows = Array.from({ length: 1_100 }, (_, at) => ({ to: ADA.number, name: `Zebedea ${at}` }));
  await enqueue(own, [...rows, ...others(2)], { duplicates: 'keep' });
  expect(await own.volley.forget(ADA.number)).toMatchObject({
    state: 'done',
    cancelled: 1_100,
    erased: 1_100,
  });
  expect(await own.withAda()).toEqual([]);
});

test('Without that, a new list may contain the number again, and a new request forgets it again', async () => {
  const own = installation(server, 'again');
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
  const own = installation(server, 'forms');
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
  const own = installation(server, 'one-lane', ['east', 'west']);
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

test('A number is forgotten in the list of a schedule as its campaigns read it, and they reach the others as before', async () => {
  const own = installation(server, 'schedule-columns');
  const { volley } = own;
  const weekly = { cron: '0 9 * * 1', zone: 'Europe/London', message: 'Hi {{name}}' };
  const inColumn = { ...weekly, id: 'in-column', toColumn: 'Mobile' };
  const ofRow = { ...weekly, id: 'of-row', country: 'DE', countryColumn: 'land' };
  const lists: [typeof inColumn | typeof ofRow, object[]][] = [
    [inColumn, others(2).map(({ to: mobile, name }) => ({ to: '', mobile, name }))],
    // Only the first recipient has a country.
    [ofRow, others(2)],
  ];
  const adas = [
    { to: '', mobile: '07700 900123', name: 'Zebedea' },
    { to: '07700900123', land: 'England', name: 'Zebedea', reference: 'ref-ada' },
  ];
  for (const [at, [schedule, rest]] of lists.entries())
    await volley.schedules.add({ ...schedule, recipients: [adas[at], ...rest] as never });
  expect(await own.withAda()).toHaveLength(2);
  expect(await volley.forget(ADA.number)).toMatchObject({ state: 'done' });
  expect(await own.withAda()).toEqual([]);
  for (const [schedule] of lists) {
    // It keeps the list, which is checked again.
    const put = await volley.schedules.put({ ...schedule, message: 'Hello {{name}}' });
    expect(put).toMatchObject({ outcome: 'updated', recipients: { kind: 'inline', recipientCount: 2 } });
  }
});

test('A number that may belong to another person is not forgotten', async () => {
  const own = installation(server, 'argentina');
  const numbers = ['+541123456789', '+5491123456789'] as const;
  await enqueue(own, [...others(2), ...numbers.map((to) => ({ to, name: 'Zebedea' }))]);
  expect(await own.volley.forget(numbers[0])).toMatchObject({ cancelled: 1, erased: 1 });
  const found: string[] = [];
  for await (const { to } of own.volley.find(numbers[1])) found.push(`${to}`);
  expect(found).toEqual([numbers[1]]);
});

test('A request with an idempotency key gets its campaign again after a number of its list was forgotten', async () => {
  const { volley } = installation(server, 'retry');
  const request = { message: 'Hi {{name}}', sendAt: IN_AN_HOUR, idempotencyKey: 'spring' };
  const retry = (recipients: readonly object[]) =>
    volley.enqueue({ ...request, recipients: recipients as never });
  const first = await retry([...others(2), ada]);
  await volley.forget(ADA.number);
  expect(await retry([...others(2), ada])).toMatchObject({
    ...{ outcome: 'existing', id: 'id' in first ? first.id : '', recipientCount: 3 },
  });
  expect(await retry(others(2))).toMatchObject({ outcome: 'refused', code: 'conflict' });
});

test('A report has another version when a number that was suppressed in it is forgotten', async () => {
  const own = installation(server, 'version');
  await own.volley.suppression.add([ADA.number]);
  const id = await enqueue(own, [...others(2), ada]);
  const before = await own.volley.reportVersion(id);
  expect(await own.volley.forget(ADA.number)).toMatchObject({ state: 'done', cancelled: 0 });
  expect(await own.volley.reportVersion(id)).not.toBe(before);
});
