import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { Volley } from '../../src/app/volley.js';
import { admit } from '../../src/operations/access.js';
import { OPERATIONS } from '../../src/operations/index.js';
import type { Operation } from '../../src/operations/operation.js';
import { at, CONTRACT } from '../call-records/contract.js';
import { january } from '../call-records/service.js';
import { scene } from '../scene/scene.js';

const { open, write } = scene('operations-audit');

// Accepts connections and closes them after each request, so every outcome is unknown.
const service = createServer(
  (socket) => void socket.on('data', () => socket.destroy()).on('error', () => {}),
);
service.listen(0, '127.0.0.1');
await once(service, 'listening');
const { port } = service.address() as AddressInfo;
const volley = open({
  API_KEY: 'key',
  // An account that can log in, and whose token no request needs.
  ACCOUNT_USERNAME: 'anna',
  ACCOUNT_PASSWORD: 'right',
  AUTHORIZATION_HEADER: 'apiKey',
  X_AUTHORIZATION_HEADER: 'none',
  CALLBACK_URL: 'https://volley.example/in',
  CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
  SENDER_ADDRESS: 'ACME',
  MESSAGING_BASE_URL: `http://127.0.0.1:${port}`,
  ALLOW_INSECURE: 'service',
  MAX_SCHEDULE_AHEAD: '365000d',
  RECORDS_CONTRACT: write('contract.json', at(CONTRACT, `http://127.0.0.1:${port}`)),
  SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
  WEBHOOK_ALLOW: '127.0.0.1',
});
const actor = { kind: 'library', id: null, name: 'a test' } as const;
afterAll(() => void service.close());

const created = async (more: object = {}): Promise<string> => {
  const campaign = { recipients: [{ to: '+447700900123' }], message: `Hi ${Math.random()}` };
  const outcome = await volley.enqueue({ ...campaign, ...more });
  return 'id' in outcome ? outcome.id : '';
};
const LANE = { name: 'default' };
const ON_LANE = { lane: 'default' };
const LATER = { sendAt: Date.parse('2999-01-01') };

/** The name of a new outbox, and the id of a message that waits in it. */
const outbox = async (): Promise<{ name: string; id: string }> => {
  const name = `box-${Math.random()}`.replace('.', '');
  await volley.outboxes.create({ name, message: 'Hi' });
  await volley.outbox(name).put({ id: 'a', to: '+447700900123', sendAt: '2030-01-01T00:00:00Z' });
  return { name, id: 'a' };
};

const newSchedule = () => ({ id: `schedule-${Math.random()}` });
/** The id of a new schedule. */
const schedule = async (): Promise<{ id: string }> => {
  const { id } = newSchedule();
  const recipients = [{ to: '+447700900123' }];
  await volley.schedules.add({ id, cron: '0 9 * * 1', zone: 'UTC', message: 'Hi', recipients });
  return { id };
};

/** The id of a request for call records with an unknown outcome. */
const requested = async () => ({ id: (await volley.records.request(january(1), { again: true })).id });

/** A new message of a person. */
const fromPerson = () => ({
  messageId: String(Math.random()),
  from: '+447700900123',
  to: 'ACME',
  text: 'Hi',
});

const newLane = () => ({ name: `lane-${Math.random()}`, apiKey: `key-${Math.random()}` });
/** The name of a new stored lane. */
const storedLane = async (): Promise<{ name: string }> => {
  const { name, ...settings } = newLane();
  await volley.storedLanes.add(name, settings);
  return { name };
};

/** The id of a new API key. */
const apiKey = async (): Promise<{ id: string }> => {
  const { id } = await volley.keys.create({ name: 'shop', scopes: ['read'] });
  return { id };
};

/** The id of a new webhook. */
const webhook = async (): Promise<{ id: string }> => {
  const { id } = await volley.webhooks.add({ url: `http://127.0.0.1:${port}/` });
  return { id };
};

/** The input with which an operation has something to do. */
const INPUTS: Readonly<Record<string, () => Promise<object>>> = {
  createSignInLink: async () => ({}),
  createCampaign: async () => ({ recipients: [{ to: '+447700900123' }], message: 'Hi', ...LATER }),
  uploadCampaign: async () => ({ recipients: [{ to: '+447700900123' }], message: 'Hello', ...LATER }),
  previewCampaign: async () => ({ recipients: [{ to: '+447700900123' }], message: 'Hi' }),
  previewUpload: async () => ({ recipients: [{ to: '+447700900123' }], message: 'Hi' }),
  listCampaigns: async () => ({ limit: 10 }),
  getCampaign: async () => ({ id: await created(LATER) }),
  deleteCampaign: async () => {
    const id = await created(LATER);
    await volley.cancel(id);
    return { id };
  },
  pauseCampaign: async () => ({ id: await created(LATER) }),
  resumeCampaign: async () => {
    const id = await created(LATER);
    await volley.pause(id);
    return { id };
  },
  cancelCampaign: async () => ({ id: await created(LATER) }),
  getReport: async () => ({ id: await created(LATER), format: 'csv' }),
  listRecipients: async () => ({ id: await created(LATER), from: 0, limit: 10 }),
  resolveCampaign: async () => {
    const id = await created();
    const workers = volley.work();
    while ((await volley.status(id)).unknownOutcomes.length === 0) await delay(50);
    await workers.drain();
    return { id, as: 'accepted' };
  },
  listResults: async () => ({ limit: 10 }),
  addSchedule: async () => ({
    ...newSchedule(),
    cron: '0 9 * * 1',
    zone: 'UTC',
    message: 'Hi',
    recipients: [{ to: '+447700900123' }],
  }),
  listSchedules: async () => ({ limit: 10 }),
  getSchedule: () => schedule(),
  getNextOccurrences: async () => ({ ...(await schedule()), count: 2 }),
  runSchedule: () => schedule(),
  pauseSchedule: () => schedule(),
  resumeSchedule: async () => {
    const { id } = await schedule();
    await volley.schedules.pause(id);
    return { id };
  },
  removeSchedule: () => schedule(),
  listOutboxes: async () => ({ limit: 10 }),
  createOutbox: async () => ({ name: `made-${Math.random()}`.replace('.', ''), message: 'Hi' }),
  putOutbox: async () => ({ name: (await outbox()).name, message: 'Hello' }),
  previewOutbox: async () => ({ name: (await outbox()).name, message: 'Hello' }),
  setOutbox: async () => ({ name: (await outbox()).name, message: 'Hello' }),
  getOutbox: () => outbox(),
  listWaiting: async () => ({ name: (await outbox()).name, limit: 10 }),
  pauseOutbox: () => outbox(),
  resumeOutbox: async () => {
    const { name } = await outbox();
    await volley.outbox(name).pause();
    return { name };
  },
  closeOutbox: () => outbox(),
  deleteOutbox: async () => {
    const name = `empty-${Math.random()}`.replace('.', '');
    await volley.outboxes.create({ name, message: 'Hi' });
    return { name };
  },
  cancelMessages: () => outbox(),
  putMessage: async () => ({ ...(await outbox()), message: { to: '+447700900124' } }),
  getMessage: () => outbox(),
  cancelMessage: () => outbox(),
  listMessages: () => outbox(),
  putMessages: async () => ({
    ...(await outbox()),
    list: { ndjson: Readable.from(['{"id":"b","to":"+447700900123"}\n']) },
  }),
  findNumber: async () => ({ number: '+447700900123' }),
  forgetNumber: async () => ({ number: '+447700900196' }),
  addSuppressions: async () => ({ numbers: ['+447700900199'] }),
  removeSuppressions: async () => {
    await volley.suppression.add(['+447700900198']);
    return { numbers: ['+447700900198'] };
  },
  listSuppressions: async () => ({}),
  listSuppressionOperations: async () => ({ limit: 10 }),
  undoSuppressionOperation: async () => {
    const { operation } = await volley.suppression.add(['+447700900197']);
    return { id: operation };
  },
  requestRecords: async () => january(2),
  fetchRecords: async () => january(3),
  getRecords: () => requested(),
  getRecordsStatus: () => requested(),
  downloadRecords: () => requested(),
  fetchRequestedRecords: () => requested(),
  listRecords: async () => ({ limit: 10 }),
  resolveRecords: async () => ({ ...(await requested()), resolution: { as: 'abandon' } }),
  receiveInbound: async () => ({ ...ON_LANE, ...fromPerson() }),
  listInbound: async () => ({ limit: 10 }),
  listAuditEntries: async () => ({ limit: 10 }),
  listLanes: async () => ({}),
  getLane: async () => LANE,
  holdLane: async () => LANE,
  resumeLane: async () => {
    await volley.holdLane(LANE.name);
    return LANE;
  },
  addLane: async () => newLane(),
  setLane: async () => ({ ...(await storedLane()), hourlyQuota: 5 }),
  getLaneSettings: storedLane,
  removeLane: async () => ({ ...(await storedLane()), expect: 0 }),
  renameLane: async () => {
    await volley.renameLane(LANE.name, 'other');
    return { name: 'other', to: LANE };
  },
  showToken: async () => ON_LANE,
  logIn: async () => ({ ...ON_LANE, again: false }),
  renewToken: async () => ON_LANE,
  getSubscription: async () => ON_LANE,
  createSubscription: async () => ON_LANE,
  deleteSubscription: async () => ON_LANE,
  createKey: async () => ({ name: 'shop', scope: ['read'] }),
  listWorkers: async () => ({}),
  runDoctor: async () => ({}),
  listKeys: async () => ({}),
  showKey: () => apiKey(),
  revokeKey: () => apiKey(),
  rotateKey: () => apiKey(),
  addWebhook: async () => ({ url: `http://127.0.0.1:${port}/` }),
  listWebhooks: async () => ({}),
  getWebhook: () => webhook(),
  testWebhook: () => webhook(),
  rotateWebhook: () => webhook(),
  enableWebhook: () => webhook(),
  disableWebhook: () => webhook(),
  listFailedDeliveries: () => webhook(),
  replayWebhook: () => webhook(),
  removeWebhook: () => webhook(),
  followEvents: async () => ({}),
  getProgress: async () => ({ id: await created(LATER) }),
  listUnknown: async () => ({ id: await created(LATER), limit: 100 }),
  followLive: async () => ({}),
  getLedger: async () => LANE,
  followCampaign: async () => ({ id: await created(LATER) }),
};

/** Runs an operation for an actor of its own, and returns what the trail has of it. */
async function recordedBy(operation: Operation): Promise<string[]> {
  const input = await INPUTS[operation.name]?.();
  if (input === undefined) throw new TypeError(`${operation.name} has no input here: add one to INPUTS`);
  const acting: Volley = volley.as({ ...actor, name: operation.name });
  const { lanes, found } = await admit<never>(operation.access, null, acting, input as never);
  const done = await operation.run(acting, input as never, { lanes, found: found as never });
  if (operation.kind === 'rows') for await (const _ of done as AsyncIterable<unknown>);
  const { entries } = await volley.audit({ limit: 200 });
  return entries.filter((entry) => entry.actor?.name === operation.name).map(({ action }) => action);
}

test.each(OPERATIONS.map((operation) => [operation.name, operation] as const))(
  'The audit trail records of %s what its row says',
  async (_, operation) => {
    expect(await recordedBy(operation)).toEqual(operation.audit === undefined ? [] : [operation.audit]);
  },
);
