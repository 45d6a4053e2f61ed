import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { InputError, NotFoundError } from '../../../src/campaign/errors/errors.js';
import { sliceReader } from '../../../src/engine/recipients/slices.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { findLane, readState } from '../../../src/engine/store/campaigns.js';
import type { CampaignInput } from '../../../src/intake/import/campaign-input.js';
import { importCampaign, previewCampaign } from '../../../src/intake/import/import-campaign.js';
import type { RecipientInput } from '../../../src/intake/import/read-objects.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('import');
const { deps, keys, lane, stored, emitted, woken } = importFixture(redis, prefix);

/** Each message is unique, so that no test repeats the campaign of another. */
let messages = 0;
function input(change: Partial<CampaignInput> = {}): CampaignInput {
  messages += 1;
  return { recipients: to(0, 3), message: `Sale no. ${messages}`, ...change };
}

function to(first: number, count: number): RecipientInput[] {
  return Array.from({ length: count }, (_, at) => ({ to: mobile(first + at) }));
}

async function created(change: Partial<CampaignInput>) {
  const outcome = await importCampaign(deps, input(change));
  if (outcome.outcome !== 'created') throw new Error(`it was ${outcome.outcome}`);
  const state = await readState(redis, keys, lane, outcome.id);
  if (state === null) throw new Error('it has no state');
  return { ...outcome, state };
}

async function csv(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-import-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'spring.csv'), text);
  return join(folder, 'spring.csv');
}

async function keysLeftBy<Result>(run: () => Promise<Result>): Promise<{ result: Result; left: string[] }> {
  const before = new Set(await keysOf(redis, prefix));
  const result = await run();
  return {
    result,
    left: (await keysOf(redis, prefix)).filter((key) => !before.has(key) && key !== keys.removals),
  };
}

test('A campaign without a time is running at once, with everything that a claim needs', async () => {
  const { id, state } = await created({ recipients: to(0, 300), priority: 'high' });
  expect(state).toMatchObject({
    state: 'running',
    total: 300,
    ordinals: 300,
    cursor: 0,
    batch: 256,
    slice: 256,
    remainder: 'planned',
    weight: 4,
    counts: { planned: 300 },
    lapseAt: 0,
    endedAt: 0,
  });
  expect(await stored.running()).toMatchObject({ [id]: 0 });
  expect(await stored.placesOf(id)).toEqual(['running', 'states']);
  expect(await findLane(redis, keys, id)).toBe(lane);
  expect(woken).toContain(lane);
  expect(emitted.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['campaign.imported', 'campaign.launched']),
  );
  const read = await sliceReader(redis, keys, lane).recipients(id, 250, 20);
  expect(read).toEqual(to(250, 20).map(({ to: number }) => ({ number, values: [] })));
});

test('A new campaign starts five requests before the virtual time of its lane', async () => {
  await stored.setVirtualTime(1234.5);
  onTestFinished(async () => void (await stored.setVirtualTime(0)));
  const { id } = await created({});
  expect(await stored.running()).toMatchObject({ [id]: 1229.5 });
});

test('A campaign with a time is scheduled, and its validity counts from its launch', async () => {
  const at = Date.now() + 3_600_000;
  const { id, state } = await created({ sendAt: at, validFor: '1m' });
  expect(state).toMatchObject({ state: 'scheduled', launchAt: at, lapseAt: at + 60_000 });
  expect(await stored.scheduled()).toEqual({ [id]: at });
  expect(await stored.lapsing()).toEqual({ [id]: at + 60_000 });
  expect(await stored.placesOf(id)).toEqual(['scheduled', 'lapsing', 'states']);
});

test('A personalised message is stored with the values that it uses, and takes one recipient per request', async () => {
  const recipients = await csv(
    `\ufeffphone;name;note\n${mobile(1)};O'Brien & Søn;"x; y"\n${mobile(2)};王小明 🌷;z\n`,
  );
  const { id, name, state } = { name: '', ...(await created({ recipients, message: 'Hi {{name}}' })) };
  expect(name).toBe('');
  expect(state.batch).toBe(1);
  expect(await sliceReader(redis, keys, lane).recipients(id, 0, 2)).toEqual([
    { number: mobile(1), values: ["O'Brien & Søn"] },
    { number: mobile(2), values: ['王小明 🌷'] },
  ]);
  expect(await readMeta(redis, keys, lane, id)).toMatchObject({
    name: 'spring',
    sender: '12345',
    columns: ['phone', 'name', 'note'],
    numberColumn: 'phone',
    placeholders: ['name'],
  });
});

test('Suppressed recipients get no ordinal, but are counted and stored', async () => {
  await deps.suppression.add([mobile(901), mobile(903)], SUPPRESSING);
  const { id, state, ...outcome } = await created({ recipients: to(900, 5) });
  expect(outcome).toMatchObject({
    recipientCount: 3,
    suppressed: 2,
    preview: { rows: 5, segments: { total: 3 } },
  });
  expect(state).toMatchObject({ total: 5, ordinals: 3, counts: { planned: 3, suppressed: 2 } });
  const read = await sliceReader(redis, keys, lane).recipients(id, 0, 3);
  expect(read.map(({ number }) => number)).toEqual([mobile(900), mobile(902), mobile(904)]);
});

test('A campaign whose recipients are all suppressed is completed at once', async () => {
  await deps.suppression.add([mobile(950)], SUPPRESSING);
  const { id, state } = await created({ recipients: to(950, 1), sendAt: Date.now() + 60_000 });
  expect(state).toMatchObject({ state: 'completed', total: 1, ordinals: 0 });
  expect(state.endedAt).toBeGreaterThan(0);
  expect(await stored.ended()).toEqual({ [id]: state.endedAt });
  expect(await stored.placesOf(id)).toEqual(['ended', 'states']);
});

test('A campaign may start at most MAX_SCHEDULE_AHEAD from now', async () => {
  const ahead = Date.now() + 365 * 86_400_000;
  for (const sendAt of [ahead + 60_000, Date.parse('9999-12-31T00:00:00Z'), Number.POSITIVE_INFINITY]) {
    await expect(importCampaign(deps, input({ recipients: to(970, 1), sendAt }))).rejects.toMatchObject({
      field: 'sendAt',
      message: expect.stringMatching(/too far ahead.*MAX_SCHEDULE_AHEAD is 365d/),
    });
  }
  const { state } = await created({ recipients: to(970, 1), sendAt: ahead - 60_000 });
  expect(state).toMatchObject({ state: 'scheduled' });
});

test('The stored preview contains no number and no text', async () => {
  const recipients = [...to(971, 5), ...to(971, 1)];
  const { id, preview } = await created({ recipients, message: 'To {{to}}', idempotencyKey: 'stored' });
  expect(preview.samples).not.toEqual([]);
  expect(preview.repeats).not.toEqual([]);
  expect(preview.countries).not.toEqual([]);
  const stored = (await readMeta(redis, keys, lane, id))?.preview;
  expect(stored).toEqual({
    ...preview,
    message: '',
    lane: '',
    digest: null,
    longest: null,
    samples: [],
    repeats: [],
    countries: [],
  });
});

test('Without an idempotency key, no preview is stored: no request is compared with it', async () => {
  const { id } = await created({ recipients: to(976, 1) });
  expect(await readMeta(redis, keys, lane, id)).toMatchObject({ preview: null, suppressed: 0 });
});

test('A list with invalid rows is refused: the first twenty are listed, all are counted, and nothing is stored', async () => {
  const rows = Array.from({ length: 30 }, (_, at) => `12${at}`);
  const recipients = await csv(`phone\n${mobile(1)}\n${rows.join('\n')}\n${mobile(2)}\n`);
  const { result, left } = await keysLeftBy(() =>
    importCampaign(deps, input({ recipients, toColumn: 'phone' })),
  );
  if (result.outcome !== 'refused') throw new Error(`it was ${result.outcome}`);
  expect(result).toMatchObject({
    code: 'invalidRows',
    preview: { rows: 32, recipientCount: 2, invalid: 30 },
  });
  expect(result.errors).toHaveLength(20);
  expect(result.errors[0]).toEqual({
    code: 'invalidNumber',
    pointer: '/recipients',
    message: '"120" has 3 digits after +44; mobile numbers there have 10.',
    line: 3,
    column: 'phone',
  });
  expect(left).toEqual([]);
});

test('Recipients passed by code are sent to at `to`, whatever other number they have', async () => {
  const preview = (...recipients: readonly object[]) =>
    previewCampaign(deps, input({ recipients: recipients as RecipientInput[] }));
  const ada = { to: mobile(960), phone: mobile(961) };
  expect(await preview(ada)).toMatchObject({ toColumn: 'to', samples: [{ to: ada.to }] });
  expect(await preview({ ...ada, to: '12' })).toMatchObject({
    recipientCount: 0,
    errors: [{ column: 'to', pointer: '/recipients/0/to' }],
  });
  expect(await preview({ phone: mobile(961) })).toMatchObject({
    recipientCount: 0,
    errors: [{ column: 'to', pointer: '/recipients/0/to' }],
  });
  const byPhone = input({ recipients: [ada], toColumn: 'phone' });
  expect(await previewCampaign(deps, byPhone)).toMatchObject({ samples: [{ to: ada.phone }] });
});

test('With skipInvalid, invalid rows are left out and passed to onInvalid', async () => {
  const recipients = await csv(`phone\n${mobile(1)}\n12\n${mobile(2)}\n${mobile(1)}\n13\n`);
  const reported: number[] = [];
  const { state, ...outcome } = await created({
    recipients,
    skipInvalid: true,
    onInvalid: ({ line }) => reported.push(line),
  });
  expect(outcome).toMatchObject({ recipientCount: 2, duplicates: 1, invalid: 2 });
  expect(state.total).toBe(2);
  expect(reported).toEqual([3, 6]);
});

test('With skipInvalid, a list of invalid rows only is refused with their reasons, and nothing is stored', async () => {
  const recipients = await csv('phone\n12\n13\n');
  const { result, left } = await keysLeftBy(() =>
    importCampaign(deps, input({ recipients, toColumn: 'phone', skipInvalid: true })),
  );
  expect(result).toMatchObject({
    outcome: 'refused',
    code: 'invalidRows',
    preview: { rows: 2, recipientCount: 0, errors: [{ line: 2 }, { line: 3 }] },
  });
  expect(left).toEqual([]);
});

test('A declined import leaves nothing behind and can be requested again', async () => {
  const same = input({ idempotencyKey: 'declined' });
  const { result, left } = await keysLeftBy(() =>
    importCampaign(deps, { ...same, confirm: async ({ recipientCount }) => recipientCount !== 3 }),
  );
  expect(result).toMatchObject({ outcome: 'refused', code: 'declined' });
  expect(left.filter((key) => key.includes('campaign:'))).toEqual([]);
  expect(await importCampaign(deps, same)).toMatchObject({ outcome: 'created' });
});

test('A list that fails while it is read leaves nothing behind', async () => {
  async function* broken() {
    yield* to(0, 5_000);
    throw new Error('the source is gone');
  }
  const { left } = await keysLeftBy(() =>
    expect(importCampaign(deps, input({ recipients: broken(), idempotencyKey: 'broken' }))).rejects.toThrow(
      'the source is gone',
    ),
  );
  expect(left).toEqual([]);
});

test('An aborted import leaves nothing behind', async () => {
  const abort = new AbortController();
  async function* endless() {
    for (let number = 0; ; number++) {
      if (number === 5_000) abort.abort();
      yield { to: mobile(number) };
    }
  }
  const { left } = await keysLeftBy(() =>
    expect(importCampaign(deps, input({ recipients: endless(), signal: abort.signal }))).rejects.toThrow(
      /abort/i,
    ),
  );
  expect(left).toEqual([]);
});

test.each([
  ['a sender that the interface refuses', { sender: 'MUCH TOO LONG A NAME' }, /at most 11/],
  ['no message', { message: ' ' }, /message is empty/],
  ['a message with a zero byte', { message: 'Hi\0' }, /the message contains a zero byte \(NUL\)/],
  ['half a surrogate pair in its message', { message: 'Hi \ud83d' }, /the message contains half/],
  ['a zero byte in its name', { name: 'Sale\0' }, /name contains a zero byte/],
  ['half a pair in its metadata', { metadata: { shop: '\ud83d' } }, /metadata "shop" contains half/],
  ['a message that is left out', { message: undefined }, /message is missing/],
  ['a list that is left out', { recipients: undefined }, /list is missing/],
  ['a placeholder without a column', { message: 'Hi {{name}}' }, /no such column/],
  ['a country that does not exist', { country: 'UK' }, /use GB/],
  ['no file', { recipients: '/nowhere/list.csv' }, /There is no file/],
  ['no recipients', { recipients: [] }, /no recipients/],
  ['an empty idempotency key', { idempotencyKey: '' }, /idempotency key is empty/],
  [
    'half a surrogate pair in the name of the sender',
    { senderName: 'ACME \ud83d' },
    /senderName contains half/,
  ],
  ['half a surrogate pair in its name', { name: '\udc4d Sale' }, /name contains half/],
  ['a validity of 0', { validFor: '0s' }, /valid/],
] as const)(
  'An import with %s is refused as invalid input and leaves nothing behind',
  async (_what, change, message) => {
    const { left } = await keysLeftBy(async () => {
      const refused = importCampaign(deps, input(change as Partial<CampaignInput>));
      await expect(refused).rejects.toThrow(message);
      await expect(refused).rejects.toBeInstanceOf(InputError);
    });
    expect(left).toEqual([]);
  },
);

test('An unknown lane is reported as not found', async () => {
  await expect(importCampaign(deps, input({ lane: 'nowhere' }))).rejects.toBeInstanceOf(NotFoundError);
});

test('A preview counts the numbers that are not mobile and warns; NUMBER_KINDS=mobile refuses them', async () => {
  const recipients = await csv(`phone\n${mobile(1)}\n+442079460123\n${mobile(2)}\n+449098790123\n`);
  const list = input({ recipients, sender: '12345', skipInvalid: true });
  expect(await previewCampaign(deps, list)).toMatchObject({
    recipientCount: 4,
    notMobile: 2,
    invalid: 0,
    warnings: [
      expect.stringMatching(/^2 numbers are known to be landline.*: lines 3, 5\. .*NUMBER_KINDS=mobile\.$/),
    ],
  });
  const strict = { ...deps, config: { ...deps.config, numberKinds: 'mobile' as const } };
  expect(await previewCampaign(strict, list)).toMatchObject({
    recipientCount: 2,
    notMobile: 0,
    invalid: 2,
    errors: [
      { line: 3, message: expect.stringContaining('landline or service number') },
      { line: 5, message: expect.stringContaining('landline or service number') },
    ],
    warnings: [],
  });
});

test('A preview equals that of the import, and stores nothing', async () => {
  const recipients = await csv(
    `phone,name\n${mobile(1)},Ann\n${mobile(2)},Zoë\n${mobile(2)},Bo\n12,Cy\n${mobile(3)},Dee 🌷\n`,
  );
  const shown = input({ recipients, message: 'Hi {{name}}', sender: 'ACME', skipInvalid: true });
  const { result: preview, left } = await keysLeftBy(() => previewCampaign(deps, shown));
  expect(left).toEqual([]);
  expect(preview).toMatchObject({
    columns: ['phone', 'name'],
    toColumn: 'phone',
    rows: 5,
    recipientCount: 3,
    duplicates: 1,
    invalid: 1,
    suppressed: 0,
    encodings: { gsm7: 1, ucs2: 2 },
    segments: { min: 1, max: 1, total: 3 },
    requests: { send: 3, poll: 5, total: 8 },
    eta: { reason: null },
    completion: { reason: null },
  });
  expect(preview.ucs2Characters).toEqual(['U+00EB ë', 'U+1F337 🌷']);
  expect(preview.samples).toMatchObject([
    { to: mobile(1), text: 'Hi Ann', encoding: 'GSM-7', segments: 1, cost: null },
    { to: mobile(2), text: 'Hi Zoë', encoding: 'UCS-2', segments: 1, cost: null },
    { to: mobile(3), text: 'Hi Dee 🌷', encoding: 'UCS-2', segments: 1, cost: null },
  ]);
  expect(preview.longest).toEqual(preview.samples[2]);
  expect(preview.warnings).toHaveLength(2);
  const outcome = await importCampaign(deps, { ...shown, estimate: true });
  if (outcome.outcome !== 'created') throw new Error(`it was ${outcome.outcome}`);
  // The times are those of another moment.
  const times = { eta: expect.any(Object), completion: expect.any(Object) };
  expect(outcome.preview).toEqual({ ...preview, ...times });
});

test('An import estimates when it is sent only if it is asked to, or if messages may lapse', async () => {
  const etaOf = async (more: Partial<CampaignInput>) => {
    const outcome = await importCampaign(deps, input({ again: true, ...more }));
    return outcome.outcome === 'created' ? outcome.preview.eta : expect.unreachable();
  };
  expect(await etaOf({})).toBeNull();
  expect(await etaOf({ estimate: true })).not.toBeNull();
  expect(await etaOf({ validFor: '1h' })).not.toBeNull();
});

test('A preview expects few polls on a lane that receives notifications', async () => {
  const polls = async (environment: Record<string, string>): Promise<number> => {
    const { deps } = importFixture(redis, `${prefix}-polls`, environment);
    const recipients = Array.from({ length: 100 }, (_, at) => ({ to: mobile(at), name: `n${at}` }));
    return (await previewCampaign(deps, { recipients, message: 'Hi {{name}}' })).requests.poll;
  };
  const callback = {
    CALLBACK_URL: 'https://volley.example/in',
    CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
  };
  expect([await polls({}), await polls(callback)]).toEqual([150, 10]);
});

test('A campaign waits until Redis can no longer lose it, also one that begins before', async () => {
  await stored.mayLose(20_000);
  const before = Date.now();
  const { id } = await created({ recipients: to(990, 1) });
  const soon = await created({ recipients: to(991, 1), sendAt: before + 5_000 });
  const later = await created({ recipients: to(992, 1), sendAt: before + 60_000 });
  await stored.mayLose(0);
  for (const one of [id, soon.id])
    expect((await stored.state(one))['notBefore']).toBeGreaterThanOrEqual(before + 20_000);
  expect((await stored.state(later.id))['notBefore']).toBeUndefined();
});
