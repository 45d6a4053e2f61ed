import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';
import { message, NUMBER, OUTBOX, outboxCreator } from './outbox-creator.js';

const { call } = await scene('http-outbox-zones').api();
const outbox = outboxCreator(call);

const HOUR = 3_600_000;
/** The hour in UTC when it is 0 to 1 hours to come in Dhaka, six hours ahead of UTC, and open there: in UTC, it opens in six hours. */
const hour = (new Date().getUTCHours() + 6) % 24;
const two = (value: number): string => `${String(value % 24).padStart(2, '0')}:00`;
const window = { hours: `${two(hour)}-${two(hour + 2)}`, zone: 'recipient' };
/** Messages are sent at once, in the hours of their own zones. */
const ZONED = { message: 'Hi {{name}}', sendRule: 'now', zone: 'Europe/London', late: '20h', window };

const put = async (path: string, id: string, body: object) =>
  call('PUT', `${path}/messages/${id}`, { body: { to: NUMBER, name: 'Ada', ...body } });
const show = async (path: string, id: string) => (await call('GET', `${path}/messages/${id}`)).json;

test('A message is sent in the hours of its own zone, and says which it waits for', async () => {
  const path = await outbox(ZONED);
  expect((await call('GET', path)).json).toMatchObject({
    window: { hours: expect.any(String), zone: 'recipient' },
    zoneFrom: null,
  });
  const { json } = await put(path, 'utc', { zone: 'utc' });
  const opens = new Date(Math.floor(Date.now() / HOUR) * HOUR + 6 * HOUR).toISOString();
  expect(json).toMatchObject({ outcome: 'created', sendAt: opens, warnings: [] });
  expect((await call('GET', path)).json).toMatchObject({ nextDue: opens });
  expect(await show(path, 'utc')).toMatchObject({
    state: 'waiting',
    zone: 'UTC',
    reason: `waits for ${two(hour)} in UTC`,
  });
  expect((await put(path, 'dhaka', { zone: 'Asia/Dhaka' })).json).toMatchObject({ outcome: 'created' });
  expect(await show(path, 'dhaka')).toMatchObject({ zone: 'Asia/Dhaka', reason: null });
  // The next message that is sent is not the one that was put first.
  const { nextDue } = (await call('GET', path)).json as { nextDue: string };
  expect(nextDue < opens).toBe(true);
});

test('A message without a zone, or with one that does not exist, is refused', async () => {
  const path = await outbox(ZONED);
  expect(await put(path, 'a', {})).toMatchObject({
    status: 400,
    json: {
      errors: [
        {
          pointer: '/zone',
          code: 'noZone',
          message:
            '`zone` is empty, so the hours of the recipient are not known; enter a zone such as Europe/Paris.',
        },
      ],
    },
  });
  expect(await put(path, 'a', { zone: 'Mars' })).toMatchObject({
    status: 400,
    json: {
      errors: [
        {
          pointer: '/zone',
          code: 'invalidZone',
          message: expect.stringMatching(/^`zone` is not usable: there is no time zone "Mars"/),
        },
      ],
    },
  });
  const list = [{ id: 'a', to: NUMBER, name: 'Ada' }];
  const { json } = await call('POST', `${path}/messages`, { body: list });
  expect(JSON.parse(String(json))).toMatchObject({
    id: 'a',
    outcome: 'refused',
    code: 'badInput',
    errors: [{ column: 'zone', code: 'noZone' }],
  });
  expect(await show(path, 'a')).toMatchObject({ code: 'notFound' });
});

test('With `zoneFrom`, a message without a zone waits for the hours that are open in all zones of its country', async () => {
  const path = await outbox({ ...ZONED, zoneFrom: 'number' });
  await put(path, 'a', {});
  expect(await show(path, 'a')).toMatchObject({
    zone: null,
    reason: `waits for ${two(hour)} in all zones of GB`,
  });
  expect(await put(path, 'b', { to: '+12025550123' })).toMatchObject({
    status: 400,
    json: {
      errors: [{ pointer: '/zone', code: 'noZone', message: expect.stringContaining('all zones of US') }],
    },
  });
  const { status, json } = await call('POST', '/v1/outboxes', {
    body: { ...OUTBOX, name: 'no-hours', zoneFrom: 'number' },
  });
  expect({ status, json }).toMatchObject({ status: 400, json: { errors: [{ pointer: '/zoneFrom' }] } });
});

test('`zone` is no placeholder', async () => {
  const body = { ...ZONED, name: 'placeholder', message: 'Hi {{zone}}' };
  expect(await call('POST', '/v1/outboxes', { body })).toMatchObject({
    status: 400,
    json: { errors: [{ pointer: '/message' }] },
  });
});

test('Local times of a message are those of its zone, with and without a window', async () => {
  const path = await outbox();
  const sendAt = async (id: string, change: object) =>
    ((await call('PUT', `${path}/messages/${id}`, { body: message(change) })).json as { sendAt: string })
      .sendAt;
  expect(await sendAt('a', {})).toBe('2030-04-30T13:30:00.000Z');
  expect(await sendAt('b', { zone: 'America/Denver' })).toBe('2030-04-30T20:30:00.000Z');
  expect(await sendAt('c', { zone: 'America/Denver', sendAt: '2030-05-01T09:00' })).toBe(
    '2030-05-01T15:00:00.000Z',
  );
  // The day before, at the same time of day: the clocks of Denver change in between, and those of London do not.
  const days = await outbox({ sendRule: 'appointment - 1d' });
  const appointment = '2030-03-10T09:00';
  const put = async (id: string, zone?: string) =>
    (await call('PUT', `${days}/messages/${id}`, { body: message({ appointment, zone }) })).json;
  expect(await put('a', 'America/Denver')).toMatchObject({ sendAt: '2030-03-09T16:00:00.000Z' });
  expect(await put('b')).toMatchObject({ sendAt: '2030-03-09T09:00:00.000Z' });
});

test('Another window applies to the messages that wait, if each has a zone', async () => {
  const path = await outbox({ ...ZONED, window: undefined });
  await put(path, 'utc', { zone: 'UTC' });
  await put(path, 'none', {});
  expect(await call('PUT', path, { body: ZONED })).toMatchObject({
    status: 422,
    json: {
      code: 'messagesUnfit',
      errors: [{ pointer: '/zone', message: expect.stringContaining('(none)') }],
    },
  });
  expect((await call('PUT', path, { body: { ...ZONED, values: { zone: 'UTC' } } })).status).toBe(200);
  for (const id of ['utc', 'none'])
    expect(await show(path, id)).toMatchObject({ zone: 'UTC', reason: `waits for ${two(hour)} in UTC` });
  // And back.
  expect((await call('PUT', path, { body: { ...ZONED, window: undefined } })).status).toBe(200);
  expect(await show(path, 'utc')).toMatchObject({ zone: 'UTC', reason: null });
});
