import { expect, test } from 'vitest';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api, lanesFile, prefix } = scene('http-windows');
const HOUR_MS = 3_600_000;

/** Hours that begin in two hours and end in four. */
function closedNow(): string {
  const time = (inHours: number): string =>
    new Date(Date.now() + inHours * HOUR_MS).toISOString().slice(11, 16);
  // Midnight as an end is 24:00, and shown as that.
  return `Mon-Sun ${time(2)}-${time(4).replace('00:00', '24:00')}`;
}

const { call } = await api({ API_KEY: 'k', SEND_WINDOW: 'Mon-Sun 00:00-24:00', SEND_WINDOW_ZONE: 'Etc/UTC' });
const post = (path: string, body: object) => call('POST', path, { body });

let count = 0;
const WITH_WINDOWS = {
  campaign: (change: object) => {
    count += 1;
    return post('/v1/campaigns', {
      message: `Hi ${count}`,
      recipients: [{ to: '+447700900123' }],
      ...change,
    });
  },
  schedule: (change: object) => {
    count += 1;
    const recipients = [{ to: '+447700900123' }];
    return post('/v1/schedules', {
      ...{ id: `schedule-${count}`, cron: '0 9 * * 1', zone: 'Europe/Paris', message: 'Hi', recipients },
      ...change,
    });
  },
  outbox: (change: object) => {
    count += 1;
    return post('/v1/outboxes', { name: `outbox-${count}`, message: 'Hi', ...change });
  },
};

const HOURS = 'Mon-Sat 09:00-20:00';
const invalid = (pointer: string, message: RegExp) => ({
  errors: [{ pointer, message: expect.stringMatching(message) }],
});

test("A local time is one of the campaign's zone, or else of the zone of its lane's window", async () => {
  const day = new Date(Date.now() + 7 * 24 * HOUR_MS).toISOString().slice(0, 10);
  const startOf = async (change: object): Promise<unknown> =>
    (await post('/v1/preview', { message: 'Hi', recipients: [{ to: '+447700900123' }], ...change })).json;
  expect(await startOf({ sendAt: `${day}T09:00`, zone: 'Asia/Tokyo' })).toMatchObject({
    sendAt: `${day}T00:00:00.000Z`,
    zone: 'Asia/Tokyo',
  });
  expect(await startOf({ sendAt: `${day}T09:00` })).toMatchObject({
    sendAt: `${day}T09:00:00.000Z`,
    zone: 'Etc/UTC',
  });
  expect(await startOf({ window: { hours: HOURS } })).toMatchObject({
    window: { hours: HOURS },
    zone: 'Etc/UTC',
  });
});

test('A campaign whose window is closed is running, and says until when it waits; its lane counts it', async () => {
  const window = closedNow();
  const made = await WITH_WINDOWS.campaign({
    window: { hours: window, except: ['2030-05-01'] },
    zone: 'Etc/UTC',
  });
  expect(made.status).toBe(201);
  const { id } = made.json as { id: string };
  const { json } = await call('GET', `/v1/campaigns/${id}`);
  const status = json as { window: { opensAt: string }; blockedBy: object };
  expect(status).toMatchObject({
    state: 'running',
    zone: 'Etc/UTC',
    window: { hours: window, except: ['2030-05-01'], closesAt: null },
    blockedBy: { state: 'waiting', until: status.window.opensAt, reason: expect.stringContaining(window) },
  });
  const inMs = Date.parse(status.window.opensAt) - Date.now();
  expect(inMs).toBeGreaterThan(1.9 * HOUR_MS);
  expect(inMs).toBeLessThanOrEqual(2 * HOUR_MS);
  const { json: lanes } = await call('GET', '/v1/lanes');
  expect(lanes).toMatchObject({
    lanes: [
      { state: 'open', window: { opensAt: null }, campaigns: { running: 0, waiting: 1, scheduled: 0 } },
    ],
  });
});

test('A window is compared with that of the lane it is for, and not with that of the first lane', async () => {
  const lane = (name: string, window: string) => ({
    name,
    apiKey: name,
    window: { hours: window },
    zone: 'Etc/UTC',
  });
  const lanes = lanesFile([lane('day', 'Mon-Sun 08:00-20:00'), lane('night', 'Mon-Sun 20:00-24:00')]);
  const two = await api({ REDIS_PREFIX: `${prefix}-two`, LANES_FILE: lanes });
  const body = {
    ...{ message: 'Hi', window: { hours: 'Mon-Sun 21:00-23:00' }, zone: 'Etc/UTC' },
    recipients: [{ to: '+447700900123' }],
  };
  const create = (name: string) => two.call('POST', '/v1/campaigns', { body: { ...body, lane: name } });
  expect(await create('night')).toMatchObject({ status: 201 });
  const never = invalid('/window', /never open at the same time/);
  expect(await create('day')).toMatchObject({ status: 400, json: never });
});

test('A preview says when the windows of the campaign and of its lane open and close', async () => {
  const window = closedNow();
  const { status, json } = await post('/v1/preview', {
    message: 'Hi',
    recipients: [{ to: '+447700900123' }],
    window: { hours: window },
    zone: 'Etc/UTC',
  });
  expect({ status, json }).toMatchObject({
    status: 200,
    json: {
      zone: 'Etc/UTC',
      window: { hours: window, opensAt: expect.any(String), closesAt: null },
      laneZone: 'Etc/UTC',
      laneWindow: { hours: 'Mon-Sun 00:00-24:00', opensAt: null, closesAt: expect.any(String) },
    },
  });
});

test('A schedule shows the window of its campaigns, and an outbox its own', async () => {
  const schedule = await WITH_WINDOWS.schedule({ window: { hours: HOURS, except: ['2030-05-01'] } });
  expect(schedule).toMatchObject({
    status: 201,
    json: { campaign: { window: { hours: HOURS, except: ['2030-05-01'] } } },
  });
  const window = closedNow();
  const outbox = await WITH_WINDOWS.outbox({ window: { hours: window }, zone: 'Etc/UTC', late: '3h' });
  expect(outbox).toMatchObject({ status: 201, json: { window: { hours: window, closesAt: null } } });
  const { name } = outbox.json as { name: string };
  const put = await call('PUT', `/v1/outboxes/${name}/messages/a`, { body: { to: '+447700900123' } });
  const { json } = await call('GET', `/v1/outboxes/${name}`);
  const { opensAt } = (json as { window: { opensAt: string } }).window;
  expect(put).toMatchObject({ json: { outcome: 'created', sendAt: opensAt } });
});

test('A message whose outbox opens too late for it is refused with 422', async () => {
  const outbox = await WITH_WINDOWS.outbox({ window: { hours: closedNow() }, zone: 'Etc/UTC', late: '1h' });
  const { name } = outbox.json as { name: string };
  const put = await call('PUT', `/v1/outboxes/${name}/messages/a`, { body: { to: '+447700900123' } });
  expect(put).toMatchObject({
    status: 422,
    json: {
      code: 'opensTooLate',
      errors: [{ pointer: '/sendAt', message: expect.stringMatching(/the window .* opens next at/) }],
    },
  });
});

test('Recipients have times of their own, in JSON and in a CSV; preview and status say what waits for which', async () => {
  const time = (minutes: number): string =>
    new Date(Math.ceil(Date.now() / 60_000 + minutes) * 60_000).toISOString();
  const [first, second] = [time(60), time(120)];
  const recipients = [
    { to: '+447700900123', sendAt: second },
    { to: '+447700900124', sendAt: first.slice(0, 16) },
    { to: '+447700900125', sendAt: second },
  ];
  const zones = [
    { zone: 'Etc/UTC', sendAt: first, opensAt: first, opensAtLocal: first.slice(11, 16), waiting: 1 },
    { zone: 'Etc/UTC', sendAt: second, opensAt: second, opensAtLocal: second.slice(11, 16), waiting: 2 },
  ];
  const body = { message: 'Timed', recipients };
  expect((await post('/v1/preview', body)).json).toMatchObject({ zones, recipientCount: 3, window: null });
  const { id } = (await post('/v1/campaigns', body)).json as { id: string };
  expect((await call('GET', `/v1/campaigns/${id}`)).json).toMatchObject({
    ...{ state: 'running', zones, window: null },
    blockedBy: {
      code: 'windowClosed',
      until: first,
      reason: `waits for ${first.slice(11, 16)} in Etc/UTC: 1 recipient; for ${second.slice(11, 16)} in Etc/UTC: 2 recipients`,
    },
  });
  const file = `to,when\n+447700900123,${first}\n+447700900124,${second}\n`;
  const form = campaignForm({ message: 'Timed in a file', timeColumn: 'when' }, file);
  expect((await call('POST', '/v1/preview/upload', { form })).json).toMatchObject({
    zones: [{ sendAt: first }, { sendAt: second }],
  });
  const late = [{ to: '+447700900123', sendAt: time(-90) }];
  expect((await post('/v1/campaigns', { message: 'Timed', recipients: late })).json).toMatchObject({
    errors: [
      { code: 'invalidValue', column: 'sendAt', message: expect.stringContaining('more than 1h ago') },
    ],
  });
});
