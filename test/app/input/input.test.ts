import { afterAll, describe, expect, test } from 'vitest';
import { type Argument, limit, maybeText, options } from '../../../src/app/input/checked.js';
import { freePort } from '../../../src/base/redis/private-server.js';
import {
  createEvents,
  createVolley,
  InputError,
  loadConfig,
  RedisUnavailableError,
  type Volley,
} from '../../../src/index.js';

const config = loadConfig({
  MESSAGING_BASE_URL: 'https://messaging.example',
  API_KEY: 'k',
  HOURLY_QUOTA: '100',
  PRICE_PER_SEGMENT: '0.05 EUR',
  // Nothing answers: what is refused is refused before anything is stored.
  REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
});
const events = createEvents({ level: 'silent' });
const volley = createVolley({ config, events });
afterAll(() => volley.close());

/** A service as programs without types see it: its methods take anything. */
type Untyped<Service> = {
  readonly [Name in keyof Service]: Service[Name] extends (...args: never[]) => infer Returned
    ? (...args: readonly unknown[]) => Returned extends Promise<unknown> ? Returned : Untyped<Returned>
    : Untyped<Service[Name]>;
};
const untyped = <Service>(typed: Service) => typed as unknown as Untyped<Service>;

/** What a call throws, rejects with, or throws when its rows are read. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    const returned = await call();
    if (typeof returned === 'object' && returned !== null && Symbol.asyncIterator in returned)
      for await (const _ of returned as AsyncIterable<unknown>) break;
  } catch (error) {
    return error;
  }
  return 'accepted';
}

const campaign = { recipients: [{ to: '+447700900123' }], sender: 'ACME', message: 'Sale' };
const schedule = { ...campaign, id: 'weekly', cron: '0 9 * * 1', zone: 'Europe/London' };
const outbox = { name: 'dentist', sender: 'ACME', message: 'Hi' };
const key = { name: 'shop', scopes: ['read'] };

/** The methods without arguments. */
const TAKE_NOTHING = [
  'volley.fleetSnapshot',
  'volley.lanes',
  'volley.knownLanes',
  'volley.refreshLanes',
  'volley.unconfiguredLanes',
  'volley.laneProblems',
  'volley.workers',
  'outbox.cancelAll',
  'outbox.status',
  'outbox.report',
  'outbox.pause',
  'outbox.resume',
  'outbox.delete',
  'storedLanes.list',
  'inbound.receiver',
  'records.contract',
  'subscription.get',
];

type Case = readonly [what: string, call: (volley: Untyped<Volley>) => unknown, message: string];

/** Each member of a campaign with a value of another form. */
const CAMPAIGN_CASES: readonly (readonly [members: object, message: string])[] = [
  [{ priority: 'urgent' }, '`priority` must be one of high, normal; it is "urgent"'],
  [{ duplicates: 'all' }, '`duplicates` must be one of first, keep, refuse; it is "all"'],
  [{ sentBefore: true }, '`sentBefore` must be one of count, leaveOut; it is true'],
  [{ name: 17 }, '`name` must be a string; it is 17'],
  [{ message: 17 }, '`message` must be a string; it is 17'],
  [{ idempotencyKey: 17 }, '`idempotencyKey` must be a string; it is 17'],
  [{ validFor: 90 }, '`validFor` must be a whole number and a unit, such as 90s, 15m, 72h, or 30d; it is 90'],
  [{ skipInvalid: 'yes' }, '`skipInvalid` must be `true` or `false`; it is "yes"'],
  [{ maxCost: true }, '`maxCost` must be an amount such as 50 or "49.90 EUR"; it is true'],
  [{ maxCost: Number.NaN }, '`maxCost` must be an amount such as 50 or "49.90 EUR"; it is NaN'],
  [{ tags: 'spring' }, '`tags` must be a list; it is "spring"'],
  [{ tags: [17] }, '`tags/0` must be a string; it is 17'],
  [{ metadata: [] }, '`metadata` must be an object'],
  [{ metadata: { order: 17 } }, '`metadata/order` must be a string; it is 17'],
  [{ window: 'Mon 09:00-10:00' }, '`window` must be an object; it is "Mon 09:00-10:00"'],
  [{ window: { hour: 'Mon 09:00-10:00' } }, '`window/hour` is unknown: did you mean `hours`?'],
  [{ toResultsOf: { campaign: 'c' } }, '`toResultsOf/status` is missing'],
  [{ country: 'XX' }, '"XX" is not a country code; use two capital letters'],
  [{ confirm: true }, '`confirm` must be a function'],
  [{ signal: {} }, '`signal` must be an AbortSignal'],
  [{ sendAt: {} }, '`sendAt` must be a time: ms since the epoch, ISO 8601, or a Date'],
  [{ sendAt: new Date('never') }, '`sendAt` is an invalid Date'],
  [
    { sendAt: 1_893_456_000 },
    '`sendAt` is 1893456000, which would be a time in seconds: give milliseconds since the epoch, ISO 8601, or a Date',
  ],
  [{ sendAT: '2030-01-01T09:00Z' }, '`sendAT` is unknown: did you mean `sendAt`?'],
  [{ at: '2030-01-01T09:00Z' }, '`at` is unknown: did you mean `sendAt`?'],
  [{ recipients: 17 }, '`recipients` must be the path of a CSV file'],
  [{ recipients: { csv: 'list.csv' } }, '`recipients` must be the path of a CSV file'],
  [{ recipients: null }, 'the list is missing: give the path of a CSV file, or an array'],
];

const CASES: readonly Case[] = [
  ...CAMPAIGN_CASES.map(
    ([members, message]): Case => [
      `a campaign with ${JSON.stringify(members)}`,
      ({ enqueue }) => enqueue({ ...campaign, ...members }),
      message,
    ],
  ),
  ['no campaign', ({ enqueue }) => enqueue(), 'the input is missing'],
  ['a campaign as a text', ({ preview }) => preview('sale.csv'), 'the input must be an object; it is'],
  [
    'a schedule with another overlap',
    ({ schedules }) => schedules.add({ ...schedule, overlap: 'queue' }),
    '`overlap` must be one of skip, wait, allow; it is "queue"',
  ],
  [
    'a schedule with a misspelled member',
    ({ schedules }) => schedules.add({ ...schedule, catchup: '1h' }),
    '`catchup` is unknown: did you mean `catchUp`?',
  ],
  [
    'a schedule with a big integer in its list',
    ({ schedules }) =>
      schedules.add({ ...schedule, recipients: [{ ...campaign.recipients[0], visits: 5n }] }),
    '`recipients` must be the path of a CSV file, a list of objects with `to`, or { provided } with the name of a list',
  ],
  [
    'a schedule with nothing in its list',
    ({ schedules }) => schedules.add({ ...schedule, skipInvalid: true, recipients: [undefined] }),
    '`recipients` must be the path of a CSV file, a list of objects with `to`, or { provided } with the name of a list',
  ],
  [
    'a schedule without its id',
    ({ schedules }) => schedules.add({ ...schedule, id: undefined }),
    '`id` is missing',
  ],
  [
    'an outbox with a number as a name',
    ({ outboxes }) => outboxes.create({ ...outbox, senderName: 17 }),
    '`senderName` must be a string; it is 17',
  ],
  [
    'an outbox with `lateMs`',
    ({ outboxes }) => outboxes.put({ ...outbox, lateMs: 5 }),
    '`lateMs` is unknown: did you mean `late`?',
  ],
  [
    'an outbox on a lane',
    ({ outbox }) => outbox('dentist', { lane: 'acme' }),
    '`lane` is unknown: did you mean `lanes`?',
  ],
  ['a setting', ({ outbox }) => outbox('dentist').set({ zone: 5 }), '`zone` must be a string; it is 5'],
  [
    'another setting',
    ({ outbox }) => outbox('dentist').set({ name: 'x' }),
    '`name` is unknown: did you mean',
  ],
  ['a message', ({ outbox }) => outbox('dentist').put('hi'), '`message` must be an object with an id'],
  ['messages', ({ outbox }) => outbox('dentist').putAll('hi'), '`messages` must be an iterable of messages'],
  [
    'a list',
    ({ outbox }) => outbox('dentist').import({ cvs: 'x' }),
    'the input must be { csv } with the path',
  ],
  [
    'a key for a lane',
    ({ keys }) => keys.create({ ...key, lane: 'acme' }),
    '`lane` is unknown: did you mean `lanes`?',
  ],
  [
    'a key with another scope',
    ({ keys }) => keys.create({ ...key, scopes: ['write'] }),
    '`scopes/0` must be one of status, metrics',
  ],
  [
    'a key with a limit',
    ({ keys }) => keys.create({ ...key, maxSegments: 'x' }),
    '`maxSegments` must be a whole number from 1 to 255; it is "x"',
  ],
  [
    'a webhook for a lane',
    ({ webhooks }) => webhooks.add({ url: 'https://shop.example', lane: 'acme' }),
    '`lane` is unknown: did you mean `lanes`?',
  ],
  ['a number', ({ suppression }) => suppression.add('+447700900123'), '`numbers` must be a list of numbers'],
  ['numbers', ({ suppression }) => suppression.add([447700900123]), 'number 1: is not a text'],
  [
    'a reply',
    ({ inbound }) => inbound.receive({ lane: 'default', messageId: 7, from: '1', to: '2', text: 'STOP' }),
    '`messageId` must be a string; it is 7',
  ],
  ['records', ({ records }) => records.request({ from: '2030-01-01' }), '`to` is missing'],
  [
    'a resolution of records',
    ({ records }) => records.resolve('r', { as: 'sent' }),
    '`as` must be one of accepted, resend, abandon',
  ],
  [
    'a resolution',
    ({ resolve }) => resolve('c', { as: 'sent' }),
    '`as` must be one of resend, abandon, accepted',
  ],
  [
    'a status',
    ({ report }) => report('c', { state: 'failed' }),
    '`state` is unknown: did you mean `status`?',
  ],
  ['a page', ({ list }) => list({ limit: 'all' }), '`limit` must be a number; it is "all"'],
  ['a time of a list', ({ list }) => list({ createdFrom: 1_700_000_000 }), 'would be a time in seconds'],
  ['a role', ({ work }) => work({ roles: ['sender'] }), '`roles/0` must be one of send, follow-up, webhooks'],
  ['roles', ({ work }) => work({ role: 'send' }), '`role` is unknown: did you mean `roles`?'],
  ['no concurrency', ({ work }) => work({ concurrency: 0 }), '`concurrency` must be at least 1; it is 0'],
  [
    'an actor',
    ({ as }) => as({ kind: 'robot', id: null, name: 'x' }),
    '`actor/kind` must be one of key, cli',
  ],
  ['a type of event', () => untyped(events).on('lane.stoped', () => {}), 'there is no event `lane.stoped`'],
  ['no listener', () => untyped(events).on('lane.stopped'), '`listener` must be a function'],
  ['no listener of all events', () => untyped(events).onAny(null), '`listener` must be a function'],
  [
    'no configuration',
    () => untyped({ createVolley }).createVolley({ config: process.env }),
    '`config` must be what `loadConfig`',
  ],
  [
    'options of a Volley',
    () => untyped({ createVolley }).createVolley({ config, event: events }),
    '`event` is unknown: did you mean `events`?',
  ],
];

describe('A program without types', () => {
  test.each(CASES)(
    'that passes %s gets an error that names it, and nothing is stored',
    async (_, call, message) => {
      const error = await errorOf(() => call(untyped(volley)));
      expect(error).toBeInstanceOf(InputError);
      expect(String(error)).toContain(message);
    },
  );

  test('that passes null for what is not set gets the default', async () => {
    const none = { sendAt: null, name: null, window: null, tags: null, validFor: null, signal: null };
    expect(await errorOf(() => untyped(volley).enqueue({ ...campaign, ...none }))).toBeInstanceOf(
      RedisUnavailableError,
    );
  });

  test('that passes something else to any method gets an error from each', async () => {
    const services = {
      volley,
      outboxes: volley.outboxes,
      outbox: volley.outbox('dentist'),
      schedules: volley.schedules,
      keys: volley.keys,
      webhooks: volley.webhooks,
      storedLanes: volley.storedLanes,
      suppression: volley.suppression,
      inbound: volley.inbound,
      records: volley.records,
      positions: volley.positions,
      subscription: volley.notifications.subscription('default'),
    };
    const wrong = Symbol('wrong');
    const accepted = await Promise.all(
      Object.entries(services).flatMap(([name, service]) =>
        Object.entries<unknown>({ ...service }).map(async ([method, call]) => {
          if (typeof call !== 'function' || method === 'close') return [];
          const error = await errorOf(() => Reflect.apply(call, service, [wrong, wrong, wrong]));
          return error instanceof InputError ? [] : [`${name}.${method}`];
        }),
      ),
    );
    expect(accepted.flat()).toEqual(TAKE_NOTHING);
  });
});

test('The schemas of options take what their type allows, and nothing else', () => {
  type Named = { readonly name?: string | undefined };
  const named: Argument<Named> = options({ name: maybeText });
  // @ts-expect-error: `name` has no schema.
  const lacking: Argument<Named> = options({});
  // @ts-expect-error: `age` is not in the type.
  const more: Argument<Named> = options({ name: maybeText, age: maybeText });
  // @ts-expect-error: the schema makes what the type does not allow.
  const wider: Argument<Named> = options({ name: limit });
  // @ts-expect-error: the type allows what the schema refuses.
  const narrower: Argument<{ readonly name?: string | number | undefined }> = options({ name: maybeText });
  expect([named, lacking, more, wider, narrower]).toHaveLength(5);
});
