import { Readable } from 'node:stream';
import { vi } from 'vitest';
import type { Volley } from '../../src/app/volley.js';
import { SOON } from '../base/soon.js';
import { january } from '../call-records/service.js';

/*
 * Makes what operations need, and the inputs with which they have something to do. What is made holds the private texts, values, and numbers;
 * the inputs of those who create something do not.
 */

/** Where an input is made. */
export interface Place {
  readonly volley: Volley;
  readonly lane: string;
  /** An address that accepts events. */
  readonly receiver: string;
}
/** Makes what is necessary, and returns the input of an operation. */
export type Maker = (place: Place) => object | Promise<object>;

/** What only keys with the scope `read` may see. */
export const PRIVATE = { text: 'private text', value: 'private value', number: '+447700900199' } as const;
/** A simulator resets the connection of the first request to each of these numbers. */
const UNANSWERED = { campaign: '+4795550131', message: '+447795550131' } as const;
const TO = '+447700900123';
const LATER = { sendAt: '2999-01-01T00:00:00Z' };
const NEXT = { sendAt: '2030-01-01T00:00:00Z' };
const TIMES = { cron: '0 9 * * 1', zone: 'UTC' };

let made = 0;
const fresh = (name: string): string => {
  made += 1;
  return `${name}${made}`;
};
const number = (): string => `+44770091${fresh('').padStart(4, '0')}`;
const hidden = (to: string = PRIVATE.number) => ({
  message: `${PRIVATE.text} ${fresh('')} {{name}}`,
  recipients: [{ to, name: PRIVATE.value }],
});

export const nothing: Maker = () => ({});
export const onLane: Maker = ({ lane }) => ({ lane });
export const namedLane: Maker = ({ lane }) => ({ name: lane });
export const hiddenNumber: Maker = () => ({ number: PRIVATE.number });
export const anotherNumber: Maker = ({ lane }) => ({ lane, number: number() });

export const newCampaign: Maker = ({ lane }) => ({
  ...{ lane, message: fresh('Hi '), recipients: [{ to: TO }] },
  ...LATER,
});
const created = async (
  { volley, lane }: Place,
  more: object = LATER,
  to?: string,
): Promise<{ id: string }> => {
  const outcome = await volley.enqueue({ lane, name: `sale of ${lane}`, ...hidden(to), ...more });
  if (!('id' in outcome)) throw new Error(outcome.message);
  return { id: outcome.id };
};
export const campaign: Maker = (place) => created(place);
export const pausedCampaign: Maker = async (place) => {
  const { id } = await created(place);
  await place.volley.pause(id);
  return { id };
};
export const changedCampaign: Maker = async (place) => ({
  ...(await created(place)),
  message: 'Hello {{name}}',
});
export const cancelledCampaign: Maker = async (place) => {
  const { id } = await created(place);
  await place.volley.cancel(id);
  return { id };
};
/** A campaign with an unknown outcome. */
export const unknownCampaign: Maker = async (place) => {
  const { id } = await created(place, {}, UNANSWERED.campaign);
  const workers = place.volley.work({ roles: ['send'] });
  await vi.waitUntil(async () => (await place.volley.status(id)).unknownOutcomes.length > 0, SOON);
  await workers.drain();
  return { id, as: 'accepted' };
};

const newBox = (): { name: string; message: string } => ({ name: fresh('box'), message: 'Hi' });
export const newOutbox: Maker = ({ lane }) => ({ ...newBox(), lane });
export const emptyOutbox = async ({ volley, lane }: Place): Promise<{ name: string }> => {
  const { name } = newBox();
  await volley.outboxes.create({ name, lane, message: hidden().message });
  return { name };
};
/** A message that waits in an outbox. */
export const message = async (place: Place): Promise<{ name: string; id: string }> => {
  const { name } = await emptyOutbox(place);
  const { volley, lane } = place;
  const [recipient] = hidden().recipients;
  await volley.outbox(name, { lanes: [lane] }).put({ ...recipient, to: PRIVATE.number, id: 'm', ...NEXT });
  return { name, id: 'm' };
};
export const someMessages: Maker = async (place) => ({ name: (await message(place)).name, ids: ['m'] });
export const outbox = async (place: Place) => ({ name: (await message(place)).name });
export const changedOutbox: Maker = async (place) => ({
  ...(await outbox(place)),
  ...{ lane: place.lane, message: 'Hello {{name}}' },
});
export const pausedOutbox: Maker = async (place) => {
  const { name } = await outbox(place);
  await place.volley.outbox(name, { lanes: [place.lane] }).pause();
  return { name };
};
/** A message with an unknown outcome. */
export const unknownMessage: Maker = async (place) => {
  const { name } = await emptyOutbox(place);
  const outbox = place.volley.outbox(name, { lanes: [place.lane] });
  const [recipient] = hidden().recipients;
  await outbox.put({ ...recipient, to: UNANSWERED.message, id: 'm' });
  const workers = place.volley.work({ roles: ['send'] });
  await vi.waitUntil(async () => (await outbox.status()).counts.unknown > 0, SOON);
  await workers.drain();
  return { name, as: 'accepted' };
};
export const newMessage: Maker = async (place) => ({
  ...(await outbox(place)),
  id: 'n',
  message: { to: TO, name: 'Ada', ...NEXT },
});
export const newMessages: Maker = async (place) => ({
  ...(await emptyOutbox(place)),
  // A list can be read only once.
  get list() {
    return { ndjson: Readable.from([`{"id":"n","to":"${TO}","name":"Ada"}\n`]) };
  },
});

export const newTemplate: Maker = ({ lane }) => ({
  lane,
  name: fresh('text'),
  message: 'Hi',
  sender: 'ACME',
});
export const template: Maker = async ({ volley, lane }) => {
  const { name } = await volley.templates.put({ lane, name: fresh('text'), message: hidden().message });
  return { lane, name };
};
export const laneWithTemplate: Maker = async (place) => {
  await template(place);
  return { lane: place.lane };
};

export const newSchedule: Maker = ({ lane }) => ({
  ...{ id: fresh('schedule'), lane, ...TIMES },
  ...{ message: 'Hi', recipients: [{ to: TO }] },
});
export const schedule = async ({ volley, lane }: Place): Promise<{ id: string }> => {
  const id = fresh('schedule');
  await volley.schedules.add({ id, lane, ...TIMES, ...hidden() });
  return { id };
};
export const changedSchedule: Maker = async (place) => ({
  ...(await schedule(place)),
  ...{ lane: place.lane, ...TIMES, message: 'Hello {{name}}' },
});
export const pausedSchedule: Maker = async (place) => {
  const { id } = await schedule(place);
  await place.volley.schedules.pause(id);
  return { id };
};

export const newLane = () => ({ name: fresh('stored'), apiKey: fresh('secret') });
/** A lane that is stored in Redis. */
export const storedLane = async ({ volley }: Place): Promise<{ name: string }> => {
  const { name, ...settings } = newLane();
  await volley.storedLanes.add(name, settings);
  return { name };
};
export const changedLane: Maker = async (place) => ({ ...(await storedLane(place)), pacing: 'smooth' });
export const emptyLane: Maker = async (place) => ({ ...(await storedLane(place)), expect: 0 });
/** Its name is that of the configuration again, as when an operator follows a change of it. */
export const renamedLane: Maker = async ({ volley }) => {
  await volley.renameLane('spare', 'renamed');
  return { name: 'renamed', to: { name: 'spare' } };
};
/** A lane that a key for this lane holds, and so may resume. */
export const heldLane: Maker = async ({ volley, lane }) => {
  await volley.as({ kind: 'key', id: '0123456789ab', name: 'tenant', lanes: [lane] }).holdLane(lane);
  return { name: lane };
};

export const newNumbers: Maker = ({ lane }) => ({ lane, numbers: [number()] });
export const suppressed: Maker = async ({ volley, lane }) => {
  const numbers = [number()];
  await volley.suppression.add(numbers, { lane });
  return { lane, numbers };
};
export const suppressedNumber: Maker = async ({ volley, lane }) => {
  const one = number();
  await volley.suppression.add([one], { lane });
  return { number: one };
};
export const suppression: Maker = async ({ volley, lane }) => {
  const { operation } = await volley.suppression.add([number()], { lane });
  return { id: operation };
};

export const fromPerson: Maker = ({ lane }) => ({
  ...{ lane, messageId: fresh('in'), from: TO, to: 'ACME', text: 'Hi' },
});
export const received: Maker = async ({ volley, lane }) => {
  await volley.inbound.receive({ lane, messageId: fresh('in'), from: TO, to: 'ACME', text: 'Hi' });
  return { lane };
};

export const newKey: Maker = ({ lane }) => ({ name: 'shop', scope: ['send'], lane: [lane] });
/** A key that may do less than every key that may manage it. */
export const apiKey = async ({ volley, lane }: Place): Promise<{ id: string }> => {
  const limits = { test: true, senders: ['OTHER'], recipientsPerDay: 1 };
  const { id } = await volley.keys.create({ name: 'another', scopes: ['send'], lanes: [lane], ...limits });
  return { id };
};
export const changedKey: Maker = async (place) => ({ ...(await apiKey(place)), maxSegments: 1 });

export const newWebhook: Maker = ({ lane, receiver }) => ({ url: receiver, lane });
export const webhook: Maker = async ({ volley, lane, receiver }) => {
  const { id } = await volley.webhooks.add({ url: receiver, lanes: [lane] });
  return { id };
};

/** It gets another address. */
export const movedWebhook: Maker = async (place) => ({
  ...(await webhook(place)),
  url: place.receiver,
  events: ['campaign.state'],
});

/** Each asks for another number, so that none repeats an earlier one. */
export const newRecords: Maker = ({ lane }) => ({ ...january(1, number()), lane });
/** A request for call records with an unknown outcome. */
export const records = async ({ volley, lane }: Place): Promise<{ id: string }> => {
  const { id } = await volley.records.request({ ...january(1, number()), lane });
  return { id };
};
export const unknownRecords: Maker = async (place) => ({
  ...(await records(place)),
  resolution: { as: 'abandon' },
});
