import { beforeAll, describe, expect, test } from 'vitest';
import { API_SCOPES, type ApiScope, allowsScope } from '../../../../src/campaign/states/api-key.js';
import type { SomeLimits } from '../../../../src/campaign/states/limit-values.js';
import { isThere } from '../../../../src/operations/operation.js';
import * as the from '../../../operations/inputs.js';
import { operationsScene } from '../../../operations/setting.js';
import { CASES, type Expected, laneMember } from '../../../operations/table.js';
import { request } from './request.js';

/*
 * Every operation of the HTTP API with every kind of key: its scopes, its lanes, its limits. The table of operations says what each must do.
 */

const { api, settings, receiver } = await operationsScene('http-matrix');
// Each request without a valid key comes from an address of its own: one may try only so many.
const server = await api({ ...settings, HTTP_TRUSTED_PROXIES: '127.0.0.1' }, { hasService: true });
const { volley, origin } = server;
const east = { volley, lane: 'east', receiver };
// So that every list has something of this lane.
const { cancelledCampaign, message, schedule, webhook, suppression, received, records } = the;
for (const make of [cancelledCampaign, message, schedule, webhook, suppression, received, records])
  await make(east);

const cases = CASES.flatMap(({ name, operation, expected }) =>
  isThere(operation.http) && expected.scope !== null
    ? [{ name, operation, http: operation.http, scope: expected.scope, expected }]
    : [],
);

interface Wanted extends SomeLimits {
  readonly scopes?: readonly ApiScope[];
  readonly lanes?: readonly string[];
  readonly lifetime?: string;
}
const newKey = (wanted: Wanted = {}) => volley.keys.create({ name: 'matrix', scopes: API_SCOPES, ...wanted });
const known = new Map<string, ReturnType<typeof newKey>>();
/** A key like this, always the same one. */
function keyLike(wanted: Wanted): ReturnType<typeof newKey> {
  const kind = JSON.stringify(wanted);
  const made = known.get(kind) ?? newKey(wanted);
  known.set(kind, made);
  return made;
}

let bareRequests = 0;
/** Requests an operation with nothing but a key. */
async function bare(http: string, key?: string, from?: string) {
  bareRequests += 1;
  const [method = '', path = ''] = http.split(' ');
  const control = new AbortController();
  const reply = await fetch(`${origin}/v1${path.replace(/\{\w+\}/g, 'x')}`, {
    method,
    signal: control.signal,
    headers: {
      'x-forwarded-for': from ?? `198.51.${bareRequests >> 8}.${bareRequests & 255}`,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
  });
  const { status, headers } = reply;
  // An event stream has no end.
  const body: { detail?: string } = status < 400 ? {} : Object(await reply.json());
  control.abort();
  return { detail: '', ...body, status, realm: headers.get('www-authenticate') };
}

const [revoked, expired] = await Promise.all([newKey(), newKey({ lifetime: '1ms' })]);
await volley.keys.revoke(revoked.id);
const invalid = [revoked.key, expired.key, `vk_${'0'.repeat(12)}_${'A'.repeat(43)}`];

describe.each(cases)('Before it reads its input, $name', ({ http, scope }) => {
  test('refuses requests without a valid key, and names the command that makes one', async () => {
    // Each kind of invalid key is that of every third operation.
    const kinds = [undefined, invalid[cases.findIndex((one) => one.http === http) % invalid.length]];
    const refused = await Promise.all(kinds.map((key) => bare(http, key)));
    for (const each of refused)
      expect(each).toMatchObject({ status: 401, code: 'unauthorised', realm: 'Bearer' });
    expect(refused[0]?.detail).toContain('volley keys create');
  });

  test('refuses a key from another address, and one that has used up its requests', async () => {
    const { key } = await newKey({ addresses: ['192.0.2.0/24'], requestsPerMinute: 1 });
    expect(await bare(http, key)).toMatchObject({ status: 403, limit: 'addresses' });
    expect((await bare(http, key, '192.0.2.9')).status).not.toBe(403);
    expect(await bare(http, key, '192.0.2.9')).toMatchObject({ status: 429, code: 'tooManyRequests' });
  });

  test(`answers only keys with the scope ${scope}`, async () => {
    const answerTo = async (...scopes: readonly ApiScope[]) => {
      const { key } = await keyLike({ scopes, requestsPerMinute: 100_000 });
      const { status, detail } = await bare(http, key);
      expect(status).not.toBe(401);
      return detail;
    };
    const refusal = `This request requires the scope ${scope}; the key has `;
    const [sufficient, others] = [true, false].map((is) =>
      API_SCOPES.filter((own) => allowsScope({ scopes: [own] }, scope) === is),
    );
    for (const own of sufficient ?? []) expect(await answerTo(own)).not.toContain(refusal);
    if (others?.length) expect(await answerTo(...others)).toContain(refusal);
  });
});

/** Uses up what a key that may send to one recipient a day may send. */
async function spend(id: string): Promise<void> {
  const { today } = await volley.keys.get(id);
  if (today?.recipientCount === 1) return;
  const actor = { kind: 'key', id, name: 'matrix', limits: { recipientsPerDay: 1 } } as const;
  await volley.as(actor).enqueue(Object(await the.newCampaign(east)));
}
const successes = ({ status }: Expected): readonly number[] =>
  status === undefined ? [200, 201, 202, 204] : [status];

/** The scopes of a key that gets through. */
function neededBy({ scope, alsoReads }: Expected, others: readonly ApiScope[]): readonly ApiScope[] {
  if (scope === 'read') return ['read'];
  return alsoReads && scope !== null && scope !== 'any' ? [scope, 'read'] : others;
}

/** Operations that show something private to a key that may see it. */
const revealing: string[] = [];

describe.each(cases)('With an input of lane east, $name', ({ name, operation, expected, scope }) => {
  const { touches, limits = [] } = expected;
  const member = laneMember(operation);
  const coversAll = touches === 'all';
  const others = API_SCOPES.filter((one) => one !== 'read');
  const needed = neededBy(expected, others);
  // No request that is refused changes what it names.
  let input: object;
  beforeAll(async () => {
    input = await expected.input(east);
  });
  const ask = async (wanted: Wanted, more: object = {}, without: string | undefined = undefined) => {
    const { key, id } = await keyLike(wanted);
    // Again for each request: a day may end while the others are tested.
    if (wanted.recipientsPerDay === 1) await spend(id);
    const given: Record<string, unknown> = { ...input, ...more };
    if (without !== undefined) delete given[without];
    const answer = await request(server, operation, given, key);
    const text = JSON.stringify(answer.json);
    const revealed = Object.values(the.PRIVATE).filter((each) => text.includes(each));
    if (!wanted.scopes?.includes('read')) expect(revealed).toEqual([]);
    else if (revealed.length > 0) revealing.push(name);
    return { ...answer, text, detail: String(Object(answer.json).detail) };
  };
  const ofWest: Wanted = { scopes: needed, lanes: ['west'] };

  test('does nothing with it for a key for lane west', async () => {
    const refused = await ask(ofWest, {}, touches === 'lanes' ? member : undefined);
    if (touches === 'all') {
      expect(refused.json).toMatchObject({ status: 403, code: 'forbidden' });
      expect(refused.detail).toContain('cover all lanes, and this key is limited to west');
    } else if (touches === 'lanes') {
      expect(refused.status).toBeLessThan(300);
      expect(refused.text).not.toContain('east');
    } else {
      expect(refused.json).toMatchObject({ status: 404, code: 'notFound' });
      const object = Object(input);
      expect(refused.detail).toBe(
        touches === 'lane'
          ? 'There is no lane east. The lanes of this key are: west.'
          : `There is no ${touches} ${touches === 'outbox' ? object.name : object.id}.`,
      );
    }
  });

  test.each(member === undefined ? [] : [member])(
    'refuses a lane that does not exist as one of others, in its member %s',
    async (named) => {
      const isList = Array.isArray(Object(input)[named]);
      const onLane = (lane: string) => ({ [named]: isList ? [lane] : lane });
      const unknown = await ask({ scopes: needed }, onLane('nowhere'));
      expect(unknown.json).toMatchObject({ status: 404, code: 'notFound' });
      expect(unknown.detail).toMatch(/^There is no lane nowhere; the (configured )?lanes are: east, /);
      const [foreign, missing] = [await ask(ofWest, onLane('east')), await ask(ofWest, onLane('nowhere'))];
      expect(foreign.text.replaceAll('east', 'nowhere')).toBe(missing.text);
      expect(missing.status).toBe(touches === 'all' ? 403 : 404);
    },
  );

  test.each(expected.alsoReads ? [scope] : [])('refuses a key with the scope %s, but not read', async () => {
    const { status, detail } = await ask({ scopes: others, lanes: ['east'] });
    expect([status, detail]).toEqual([403, expect.stringContaining('requires the scope read')]);
  });

  test.each(limits)('refuses a key because of its limit %s', async (limit) => {
    const exceeded = limit === 'senders' ? { senders: ['OTHER'] } : { recipientsPerDay: 1 };
    const { json } = await ask({ scopes: needed, lanes: ['east'], ...exceeded });
    expect(json).toMatchObject({ status: 403, code: 'overLimit', limit, owner: 'key' });
  });

  test.each(expected.reads ? [] : ['sandbox'])(
    'refuses a test key unless the service of the lane is a simulator, as that of %s',
    async (lane) => {
      const wanted = { scopes: needed, test: true };
      const { json, detail } = await ask(wanted);
      expect(json).toMatchObject({ status: 403, code: 'overLimit', limit: 'test', owner: 'key', left: null });
      expect(detail).toContain('the service of lane east is not a simulator');
      if (coversAll) return;
      const there = await expected.input({ ...east, lane });
      const { status, text } = await ask(wanted, there);
      expect(successes(expected), text).toContain(status);
    },
  );

  test('lets through a key with its scope for its lane, whose other limits do not count', async () => {
    const { status, text } = await ask({
      scopes: needed,
      ...(!coversAll && { lanes: ['east'] }),
      ...(limits.length === 0 && { senders: ['OTHER'], recipientsPerDay: 1 }),
      ...(expected.reads && { test: true }),
    });
    expect(successes(expected), text).toContain(status);
    if (touches === 'lanes' && operation.kind !== 'feed') expect(text).toContain('east');
  });
});

test('A key with the scope read sees texts, values, and numbers', () => {
  const reading = [
    'listTemplates',
    'getReport',
    'listRecipients',
    'getOutbox',
    'getMessage',
    'listMessages',
    'getOutboxReport',
    'findNumber',
  ];
  expect(revealing).toEqual(expect.arrayContaining(reading));
});
