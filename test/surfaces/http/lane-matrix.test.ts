import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import type { SomeLimits } from '../../../src/campaign/limit-values.js';
import { OPERATIONS } from '../../../src/operations/index.js';
import { isThere, type Operation } from '../../../src/operations/operation.js';
import { at, CONTRACT } from '../../call-records/contract.js';
import { january } from '../../call-records/service.js';
import { type ApiResponse, campaignForm } from '../../scene/api.js';
import { scene } from '../../scene/scene.js';

/*
 * Every operation of the HTTP API with an input that is valid: on lane a, with what is there. A key for lane a gets through, one for lane b is
 * refused because of its lane, and one that has exceeded its limits because of them.
 */

const { api, write } = scene('http-lane-matrix', { lanes: ['a', 'b'] });
// Receives events of webhooks.
const receiver = createServer((_, response) => void response.end()).listen(0, '127.0.0.1');
await once(receiver, 'listening');
const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
afterAll(() => void receiver.close());
const { volley, call, origin } = await api({
  RECORDS_CONTRACT: write('contract.json', at(CONTRACT, receiverUrl.slice(0, -1))),
  SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
  MESSAGING_BASE_URL: receiverUrl,
  WEBHOOK_ALLOW: '127.0.0.1',
  DEFAULT_COUNTRY: 'GB',
  PRICE_PER_SEGMENT: '0.5 EUR',
  HTTP_REQUESTS_PER_MINUTE: '100000',
});

const TO = '+447700900123';
let made = 0;
const fresh = (name: string): string => {
  made += 1;
  return `${name}${made}`;
};
const recipients = [{ to: TO }];
const LATER = { sendAt: '2999-01-01T00:00:00Z' };
const SOON = { sendAt: '2030-01-01T00:00:00Z' };
const ON_A = { lane: 'a' };
const newCampaign = () => ({ ...ON_A, message: fresh('Hi '), recipients, ...LATER });
const campaign = async (): Promise<{ id: string }> => {
  const outcome = await volley.enqueue(newCampaign());
  if (!('id' in outcome)) throw new Error(outcome.message);
  return { id: outcome.id };
};
const newBox = () => ({ name: fresh('box'), ...ON_A, message: 'Hi' });
const emptyBox = async (): Promise<{ name: string }> => {
  const { name, ...settings } = newBox();
  await volley.outboxes.create({ name, ...settings });
  return { name };
};
/** An outbox with a message that waits. */
const box = async (): Promise<{ name: string; id: string }> => {
  const { name } = await emptyBox();
  await volley.outbox(name).put({ id: 'm', to: TO, ...SOON });
  return { name, id: 'm' };
};
const filledBox = async () => ({ name: (await box()).name });
const newSchedule = () => ({
  id: fresh('schedule'),
  ...ON_A,
  cron: '0 9 * * 1',
  zone: 'UTC',
  message: 'Hi',
  recipients,
});
const schedule = async (): Promise<{ id: string }> => {
  const { id, ...rest } = newSchedule();
  await volley.schedules.add({ id, ...rest });
  return { id };
};
const webhook = async (): Promise<{ id: string }> => {
  const { id } = await volley.webhooks.add({ url: receiverUrl, lanes: ['a'] });
  return { id };
};
const suppressed = async (): Promise<{ id: string }> => {
  const { operation } = await volley.suppression.add([TO.replace('123', String(100 + made))], { lane: 'a' });
  made += 1;
  return { id: operation ?? '' };
};
const newLane = () => ({ name: fresh('stored'), apiKey: fresh('secret') });
const storedLane = async (): Promise<{ name: string }> => {
  const { name, ...settings } = newLane();
  await volley.storedLanes.add(name, settings);
  return { name };
};
const apiKey = async (): Promise<{ id: string }> => {
  const { id } = await volley.keys.create({ name: 'another', scopes: ['read'] });
  return { id };
};
const A = async () => ({ name: 'a' });
const onA = async () => ON_A;

/** The input of each operation: something of lane a. */
const INPUTS: Readonly<Record<string, () => Promise<object>>> = {
  createCampaign: async () => newCampaign(),
  uploadCampaign: async () => newCampaign(),
  previewCampaign: async () => newCampaign(),
  previewUpload: async () => newCampaign(),
  getCampaign: campaign,
  cancelCampaign: campaign,
  pauseCampaign: campaign,
  async resumeCampaign() {
    const { id } = await campaign();
    await volley.pause(id);
    return { id };
  },
  async deleteCampaign() {
    const { id } = await campaign();
    await volley.cancel(id);
    return { id };
  },
  getReport: campaign,
  listRecipients: campaign,
  resolveCampaign: async () => ({ ...(await campaign()), as: 'accepted' }),
  followCampaign: campaign,
  getProgress: campaign,
  listUnknown: campaign,
  followLive: async () => ({}),
  getLedger: A,
  listCampaigns: onA,
  listResults: onA,
  addSchedule: async () => newSchedule(),
  getSchedule: schedule,
  getNextOccurrences: schedule,
  pauseSchedule: schedule,
  async resumeSchedule() {
    const { id } = await schedule();
    await volley.schedules.pause(id);
    return { id };
  },
  removeSchedule: schedule,
  runSchedule: schedule,
  listSchedules: onA,
  createOutbox: async () => newBox(),
  putOutbox: async () => ({ ...newBox(), name: (await emptyBox()).name, message: 'Hello' }),
  previewOutbox: async () => ({ ...newBox(), name: (await emptyBox()).name, message: 'Hello' }),
  getOutbox: filledBox,
  closeOutbox: filledBox,
  deleteOutbox: emptyBox,
  pauseOutbox: filledBox,
  async resumeOutbox() {
    const { name } = await box();
    await volley.outbox(name).pause();
    return { name };
  },
  listOutboxes: onA,
  listWaiting: filledBox,
  cancelMessage: box,
  cancelMessages: filledBox,
  getMessage: box,
  listMessages: filledBox,
  putMessage: async () => ({ ...(await box()), id: 'n', message: { to: TO, ...SOON } }),
  putMessages: async () => ({ ...(await emptyBox()), list: `{"id":"n","to":"${TO}"}\n` }),
  addLane: async () => newLane(),
  setLane: async () => ({ ...(await storedLane()), pacing: 'smooth' }),
  getLaneSettings: storedLane,
  removeLane: async () => ({ ...(await storedLane()), expect: 0 }),
  renameLane: async () => ({ name: 'nowhere', to: { name: 'elsewhere' } }),
  getLane: A,
  holdLane: A,
  resumeLane: A,
  listLanes: async () => ({}),
  addSuppressions: async () => ({ ...ON_A, numbers: ['+447700900200'] }),
  removeSuppressions: async () => ({ ...ON_A, numbers: ['+447700900201'] }),
  listSuppressions: onA,
  listSuppressionOperations: onA,
  undoSuppressionOperation: suppressed,
  findNumber: async () => ({ number: TO }),
  forgetNumber: async () => ({ number: '+447700900202' }),
  receiveInbound: async () => ({ ...ON_A, messageId: fresh('in'), from: TO, to: 'ACME', text: 'Hi' }),
  listInbound: onA,
  listKeys: async () => ({}),
  showKey: apiKey,
  revokeKey: apiKey,
  listAuditEntries: onA,
  listWorkers: async () => ({}),
  runDoctor: async () => ({}),
  requestRecords: async () => ({ ...january(1), ...ON_A }),
  fetchRecords: async () => ({ ...january(2), ...ON_A }),
  listRecords: onA,
  followEvents: onA,
  addWebhook: async () => ({ url: receiverUrl, ...ON_A }),
  listWebhooks: onA,
  getWebhook: webhook,
  testWebhook: webhook,
  rotateWebhook: webhook,
  enableWebhook: webhook,
  disableWebhook: webhook,
  listFailedDeliveries: webhook,
  replayWebhook: webhook,
  removeWebhook: webhook,
};

/** Operations on one request for call records: the process of the tests has no credentials to send one. */
const NEEDS_THE_SERVICE = new Set([
  'getRecords',
  'getRecordsStatus',
  'downloadRecords',
  'fetchRequestedRecords',
  'resolveRecords',
]);

const operations = OPERATIONS.filter(({ http, name }) => isThere(http) && !NEEDS_THE_SERVICE.has(name));

/** Requests an operation as its row says where each member of the input belongs. */
async function request(
  { http, kind, body, name }: Operation,
  input: object,
  key: string,
): Promise<ApiResponse> {
  if (!isThere(http)) throw new TypeError(`${name} is not in HTTP`);
  const [method = '', path = ''] = http.split(' ');
  const rest: Record<string, unknown> = { ...input };
  const address = path.replace(/\{(\w+)\}/g, (_, member: string) => {
    const { [member]: value } = rest;
    delete rest[member];
    return encodeURIComponent(String(value));
  });
  const { [body ?? '']: whole, ...others } = rest;
  const isQuery = method === 'GET' || method === 'DELETE';
  const query = isQuery || body !== undefined ? others : {};
  const search = new URLSearchParams(
    Object.entries(query).map(([member, value]): [string, string] => [member, String(value)]),
  );
  const target = `/v1${address}${search.size === 0 ? '' : `?${search}`}`;
  if (kind === 'upload' && /upload/.test(path)) {
    const { recipients: _, ...fields } = others as Record<string, unknown>;
    return call(method, target, { key, form: campaignForm(fields, `to\n${TO}\n`) });
  }
  if (kind === 'feed') {
    // A stream has no end.
    const control = new AbortController();
    const signal = control.signal;
    const reply = await fetch(`${origin}${target}`, { headers: { authorization: `Bearer ${key}` }, signal });
    const json: unknown = reply.status < 400 ? '' : await reply.json();
    control.abort();
    return { status: reply.status, headers: reply.headers, json };
  }
  if (typeof whole === 'string')
    return call(method, target, { key, text: whole, headers: { 'content-type': 'application/x-ndjson' } });
  if (isQuery) return call(method, target, { key });
  return call(method, target, { key, body: body === undefined ? others : whole });
}

const SCOPES = ['status', 'metrics', 'read', 'send', 'operate', 'inbound', 'admin'] as const;
const keyFor = async (lanes: readonly string[] | undefined, limits: SomeLimits = {}) =>
  (await volley.keys.create({ name: 'matrix', scopes: SCOPES, lanes, ...limits })).key;
const [ofA, ofB, ofAll] = await Promise.all([keyFor(['a']), keyFor(['b']), keyFor(undefined)]);

const inputOf = async ({ name }: Operation): Promise<object> => {
  const input = await INPUTS[name]?.();
  if (input === undefined) throw new TypeError(`${name} has no input here: add one to INPUTS`);
  return input;
};
const codeOf = ({ json }: Pick<ApiResponse, 'json'>): unknown => Object(json).code;

/** Operations that cover all lanes, so that no key for some of them may use them. */
const OF_ALL_LANES = [
  ...['addLane', 'setLane', 'getLaneSettings', 'removeLane', 'renameLane'],
  ...['forgetNumber', 'listKeys', 'listWorkers', 'runDoctor'],
];
/** Operations on the lanes of the key, of which the input names none. */
const OF_ITS_LANES = ['listLanes', 'findNumber', 'followLive'];
/** Operations on what belongs to all lanes. */
const OF_NO_LANE = ['showKey', 'revokeKey'];
const NO_SERVICE = { status: 400, detail: expect.stringContaining('need the addresses and credentials') };
/** Operations that refuse the input for another reason once the key got through. */
const GETS_THROUGH: Readonly<Record<string, object>> = {
  renameLane: { status: 404, detail: expect.stringContaining('nowhere') },
  requestRecords: NO_SERVICE,
  fetchRecords: NO_SERVICE,
};

describe.each(operations.map((operation) => [operation.name, operation] as const))(
  '%s',
  (name, operation) => {
    test('refuses a key for another lane for this reason, and lets that of the lane through', async () => {
      const input = await inputOf(operation);
      const refused = await request(operation, input, ofB);
      if (OF_ALL_LANES.includes(name)) {
        expect(refused.json).toMatchObject({ status: 403, code: 'forbidden' });
        expect(Object(refused.json).detail).toContain('cover all lanes, and this key is limited to b');
      } else if (OF_ITS_LANES.includes(name)) {
        expect(refused.status).toBe(200);
        expect(JSON.stringify(refused.json)).not.toMatch(/"(name|lane)":"a"/);
      } else {
        expect(refused.json).toMatchObject({ status: 404, code: 'notFound' });
        expect(Object(refused.json).detail).toMatch(/^There is no (lane a|[a-z ]+ [\w-]+)\./);
      }
      const isOfAll = [...OF_ALL_LANES, ...OF_NO_LANE].includes(name);
      const through = await request(operation, input, isOfAll ? ofAll : ofA);
      const answer = GETS_THROUGH[name];
      if (answer === undefined)
        expect([200, 201, 202, 204], JSON.stringify(through.json)).toContain(through.status);
      else expect(through.json).toMatchObject(answer);
    });
  },
);

/** What stores messages, and what has a sender. */
const STORING = ['createCampaign', 'uploadCampaign', 'putMessage', 'putMessages'];
const SENDING = [
  ...STORING,
  'previewCampaign',
  'previewUpload',
  'createOutbox',
  'putOutbox',
  'previewOutbox',
  'addSchedule',
  'runSchedule',
  'resumeSchedule',
];

const otherSender = await keyFor(['a'], { senders: ['OTHER'] });
const spent = await keyFor(['a'], { recipientsPerDay: 1 });

describe.each(operations.map((operation) => [operation.name, operation] as const))(
  '%s',
  (name, operation) => {
    test('refuses a key for another sender if it has one, and no other', async () => {
      const { json } = await request(operation, await inputOf(operation), otherSender);
      if (SENDING.includes(name))
        expect(json).toMatchObject({ code: 'overLimit', limit: 'senders', owner: 'key' });
      else expect(codeOf({ json })).not.toBe('overLimit');
    });

    test('refuses a key whose day is spent if it stores messages, and no other', async () => {
      // Again for each operation: a day may end while the others are tested.
      await call('POST', '/v1/campaigns', { key: spent, body: newCampaign() });
      const { json } = await request(operation, await inputOf(operation), spent);
      if (STORING.includes(name) || /^preview(Campaign|Upload)$/.test(name))
        expect(json).toMatchObject({ code: 'overLimit', limit: 'recipientsPerDay', owner: 'key', left: 0 });
      else expect(codeOf({ json })).not.toBe('overLimit');
    });
  },
);

test('A lane that was added over HTTP has limits, and loses them with null', async () => {
  const { name, apiKey } = newLane();
  const limits = { senders: ['OTHER'], recipientsPerDay: 5 };
  const added = await call('POST', '/v1/lanes', { key: ofAll, body: { name, apiKey, limits } });
  expect(added).toMatchObject({ status: 201, json: { settings: { limits } } });
  const send = () => call('POST', '/v1/campaigns', { key: ofAll, body: { ...newCampaign(), lane: name } });
  expect((await send()).json).toMatchObject({ code: 'overLimit', limit: 'senders', owner: 'lane' });
  expect((await call('PUT', `/v1/lanes/${name}`, { key: ofAll, body: { limits: null } })).status).toBe(200);
  expect((await send()).status).toBe(201);
  const wrong = { name: fresh('stored'), apiKey: fresh('secret'), limits: { recipientsPerDay: 0 } };
  expect(await call('POST', '/v1/lanes', { key: ofAll, body: wrong })).toMatchObject({ status: 400 });
});
