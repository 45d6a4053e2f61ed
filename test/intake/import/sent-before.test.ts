import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { RECIPIENT_STATE, RECIPIENT_STATES } from '../../../src/campaign/states/recipient.js';
import type { Preview } from '../../../src/campaign/views/preview-views.js';
import { laneNamed, openLane } from '../../../src/engine/lane/lane.js';
import { deleteCampaign } from '../../../src/engine/recipients/delete-campaign.js';
import type { CampaignInput, ImportOutcome } from '../../../src/intake/import/campaign-input.js';
import { importCampaign, previewCampaign } from '../../../src/intake/import/import-campaign.js';
import { earlierNumbers } from '../../../src/intake/import/sent-before.js';
import { reportRows } from '../../../src/reporting/report.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { redis, prefix } = testRedis('sent-before');
const DAY = 24 * 60 * 60 * 1000;

/** Two lanes under a prefix of their own, and a clock that can be moved. */
function fixture(name: string) {
  const own = importFixture(redis, `${prefix}-${name}`);
  const [settings] = own.config.lanes;
  const lane = own.lanes.get('default');
  if (settings === undefined || lane === undefined) throw new Error('there is no lane');
  const config = { ...own.config, lanes: [settings, { ...settings, name: 'two' }] };
  const lanes = new Map([
    ['default', lane],
    ['two', openLane(redis, own.keys, config, { ...settings, name: 'two' }, own.deps.events, Math.random)],
  ]);
  let now = Date.now();
  const deps = {
    ...own.deps,
    config,
    finder: { configured: async () => lanes },
    laneNamed: async (wanted: string) => laneNamed(lanes, wanted),
    clock: () => now,
  };
  const message = 'Sale!';
  const list = (numbers: readonly number[]) => numbers.map((number) => ({ to: mobile(number) }));
  const send = async (numbers: readonly number[], more: Partial<CampaignInput> = {}) => {
    const outcome = await importCampaign(deps, { message, recipients: list(numbers), ...more });
    // Ids of one millisecond are in no order.
    now += 1;
    return outcome as Extract<ImportOutcome, { preview: Preview; id: string }>;
  };
  const preview = async (numbers: readonly number[], more: Partial<CampaignInput> = {}) =>
    previewCampaign(deps, { message, recipients: list(numbers), sentBefore: 'count', ...more });
  const advance = (ms: number): void => {
    now += ms;
  };
  return { ...own, ...own.stored, deps, send, preview, advance };
}

test('A preview counts the recipients who get its text from a campaign of the last 24 hours, on any configured lane', async () => {
  const { send, preview } = fixture('counts');
  const first = await send([1, 2, 3], { name: 'first' });
  const second = await send([3, 4], { lane: 'two', name: 'second' });
  await send([5], { message: 'Another text' });
  await send([6], { sender: '54321' });
  const { sentBefore, recipientCount, duplicates } = await preview([1, 2, 3, 4, 5, 6, 7]);
  expect([recipientCount, duplicates]).toEqual([7, 0]);
  expect(sentBefore).toEqual({
    unchecked: null,
    recipientCount: 4,
    isLeftOut: false,
    campaigns: [
      { id: second.id, name: 'second', createdAt: expect.any(String), recipientCount: 2, invalid: 0 },
      { id: first.id, name: 'first', createdAt: expect.any(String), recipientCount: 2, invalid: 0 },
    ],
    rows: [
      { line: 1, to: mobile(1), campaign: first.id },
      { line: 2, to: mobile(2), campaign: first.id },
      { line: 3, to: mobile(3), campaign: second.id },
      { line: 4, to: mobile(4), campaign: second.id },
    ],
  });
});

test('Texts are compared with their placeholders, so a corrected value does not make a new message', async () => {
  const { preview, send } = fixture('values');
  const message = 'Hi {{name}}';
  await send([], { message, recipients: [{ to: mobile(1), name: 'Ana' }] });
  const recipients = [
    { to: mobile(1), name: 'Anna' },
    { to: mobile(2), name: 'Bo' },
  ];
  expect((await preview([], { message, recipients })).sentBefore).toMatchObject({ recipientCount: 1 });
});

test('Only messages that were sent, may have been, or are still to be sent count', async () => {
  const { setLetters, send, preview, setState } = fixture('states');
  const states = RECIPIENT_STATES.filter((state) => RECIPIENT_STATE[state].letter !== null);
  const everyone = states.map((_, at) => at);
  const { id } = await send([...everyone, 100]);
  const counts = { planned: 1, ...Object.fromEntries(states.map((state) => [state, 1])) };
  const total = states.length + 1;
  const running = {
    state: 'running',
    total,
    ordinals: total,
    cursor: states.length,
    counts,
    launchAt: Date.now(),
  };
  await setState(id, running);
  await setLetters(id, states.map((state) => RECIPIENT_STATE[state].letter).join(''));
  const again = await preview([...everyone, 100]);
  expect(again.sentBefore?.rows.map(({ line }) => states[line - 1] ?? 'planned')).toEqual([
    'unknown',
    'deliveredToNetwork',
    'deliveredToTerminal',
    'deliveryImpossible',
    'abandoned',
    'unconfirmed',
    'planned',
  ]);
  await setState(id, {
    ...running,
    state: 'cancelled',
    remainder: 'cancelled',
    counts: { ...counts, planned: 0, cancelled: 2 },
  });
  expect((await preview([100])).sentBefore).toMatchObject({ recipientCount: 0, campaigns: [] });
});

test('A campaign counts for 24 hours after its start, and as long as it has messages to send', async () => {
  const { send, preview, setState, advance } = fixture('time');
  const ended = {
    state: 'completed',
    total: 2,
    ordinals: 2,
    cursor: 2,
    counts: { deliveredToTerminal: 2 },
    endedAt: 1,
  };
  const { id } = await send([1, 2]);
  const start = Date.now();
  await setState(id, { ...ended, launchAt: start });
  advance(DAY - 10_000);
  expect((await preview([1])).sentBefore).toMatchObject({ recipientCount: 1 });
  advance(20_000);
  expect((await preview([1])).sentBefore).toMatchObject({ recipientCount: 0 });
  // It was created a day ago, and started only now.
  await setState(id, { ...ended, launchAt: start + DAY });
  expect((await preview([1])).sentBefore).toMatchObject({ recipientCount: 1 });
  await setState(id, {
    ...ended,
    state: 'paused',
    launchAt: start,
    cursor: 1,
    counts: { deliveredToTerminal: 1, planned: 1 },
  });
  expect((await preview([2])).sentBefore).toMatchObject({ recipientCount: 1 });
});

test('A campaign that is being imported, one that was removed, and an outbox do not count', async () => {
  const { keys, deps, send, preview, setState } = fixture('others');
  const outbox = await send([1, 2]);
  await setState(outbox.id, {
    state: 'running',
    total: 2,
    ordinals: 2,
    counts: { planned: 2 },
    outbox: 'reminders',
    launchAt: Date.now(),
  });
  const removed = await send([3, 4]);
  await deleteCampaign(redis, keys, {
    lane: 'default',
    campaign: removed.id,
    ordinals: 2,
    idempotency: undefined,
  });
  let release = (): void => {};
  const asked = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isAsking = false;
  const importing = importCampaign(deps, {
    message: 'Sale!',
    recipients: [{ to: mobile(5) }],
    async confirm() {
      isAsking = true;
      await asked;
      return false;
    },
  });
  while (!isAsking) await delay(5);
  expect((await preview([1, 2, 3, 4, 5])).sentBefore).toMatchObject({ unchecked: null, recipientCount: 0 });
  release();
  await importing;
});

test('Recipients who get the text already are left out and reported, as duplicates are', async () => {
  const { deps, send } = fixture('left-out');
  await send([1, 2]);
  const { id, preview, ...counts } = await send([1, 2, 3, 3], {
    sentBefore: 'leaveOut',
    duplicates: 'first',
  });
  expect(counts).toMatchObject({
    outcome: 'created',
    recipientCount: 1,
    duplicates: 3,
    invalid: 0,
    suppressed: 0,
  });
  expect(preview).toMatchObject({
    rows: 4,
    segments: { total: 1 },
    sentBefore: { recipientCount: 2, isLeftOut: true },
  });
  expect(preview.samples.map(({ to }) => to)).toEqual([mobile(3)]);
  const rows = [];
  for await (const { to, status, reason } of reportRows(redis, deps.keys, id))
    rows.push([to, status, reason]);
  expect(rows).toEqual([
    [mobile(3), 'planned', null],
    [mobile(1), 'duplicate', 'line 1 gets the same text from an earlier campaign'],
    [mobile(2), 'duplicate', 'line 2 gets the same text from an earlier campaign'],
    [mobile(3), 'duplicate', 'line 4 repeats line 3'],
  ]);
});

test('Without a recipient who does not get the text yet, a campaign can be repeated as often as you like', async () => {
  const { send } = fixture('nothing-new');
  await send([1, 2]);
  for (const _ of [1, 2]) {
    const again = await send([1, 2], { sentBefore: 'leaveOut' });
    expect(again).toMatchObject({ outcome: 'created', recipientCount: 0, duplicates: 2 });
  }
});

test('A list that equals an earlier one is sent to those who did not get it', async () => {
  const { setLetters, send, setState } = fixture('rest');
  const { id } = await send([1, 2]);
  const counts = { deliveredToTerminal: 1, cancelled: 1 };
  await setState(id, {
    state: 'cancelled',
    total: 2,
    ordinals: 2,
    cursor: 2,
    counts,
    launchAt: Date.now(),
    endedAt: 1,
  });
  await setLetters(id, 'TX');
  expect(await send([1, 2])).toMatchObject({ outcome: 'refused', code: 'repeated' });
  expect(await send([1, 2], { sentBefore: 'leaveOut' })).toMatchObject({
    outcome: 'created',
    recipientCount: 1,
    duplicates: 1,
  });
});

test('All recipients of a long list are compared', async () => {
  const { send, preview } = fixture('long');
  const everyone = Array.from({ length: 20_000 }, (_, at) => at);
  await send(everyone);
  expect((await preview([16_383, 16_384, 19_999, 20_000])).sentBefore).toMatchObject({ recipientCount: 3 });
});

describe('While an import leaves out who gets the text already', () => {
  const recipients = (numbers: readonly number[]) => numbers.map((number) => ({ to: mobile(number) }));
  const onlyNew = { message: 'Sale!', sentBefore: 'leaveOut' } as const;

  test.each(['default', 'two'])(
    'another one that does so on lane %s waits for it, and both together send to each number once',
    async (lane) => {
      const { deps } = fixture(`pair-${lane}`);
      const outcomes = await Promise.all([
        importCampaign(deps, { ...onlyNew, recipients: recipients([1, 2, 3]) }),
        importCampaign(deps, { ...onlyNew, recipients: recipients([2, 3, 4]), lane }),
        importCampaign(deps, { ...onlyNew, recipients: recipients([3, 4, 5]), lane }),
        importCampaign(deps, { ...onlyNew, recipients: recipients([3, 4, 5]), lane }),
      ]);
      const created = outcomes.map((one) => (one.outcome === 'created' ? one.recipientCount : one.outcome));
      expect(created.reduce((sum: number, count) => sum + Number(count), 0)).toBe(5);
    },
  );

  test.each(['default', 'two'])(
    'a campaign of the text that begins and is committed on lane %s meanwhile refuses it, and the next import sends to the rest',
    async (lane) => {
      const { deps, send, preview } = fixture(`meanwhile-${lane}`);
      const other: string[] = [];
      const importing = importCampaign(deps, {
        ...onlyNew,
        recipients: recipients([1, 2, 3]),
        confirm: async () => {
          other.push((await send([3, 4], { lane })).id);
          return true;
        },
      });
      const error: unknown = await importing.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'unexpected',
        campaign: other[0],
        message: `campaign ${other[0]}, created while the list was read, already sends this text to 1 of its recipients: send the list again`,
      });
      expect((await preview([1, 2, 3])).sentBefore).toMatchObject({ recipientCount: 1 });
      const again = await importCampaign(deps, { ...onlyNew, recipients: recipients([1, 2, 3]) });
      expect(again).toMatchObject({ outcome: 'created', recipientCount: 2 });
    },
  );

  test('a campaign of the text that has none of its recipients, and one of another text, do not refuse it', async () => {
    const { deps, send } = fixture('unrelated');
    const outcome = await importCampaign(deps, {
      ...onlyNew,
      recipients: recipients([1, 2]),
      confirm: async () => {
        await send([3]);
        await send([1], { message: 'Another text' });
        return true;
      },
    });
    expect(outcome).toMatchObject({ outcome: 'created', recipientCount: 2 });
  });

  test('no campaign of the text is committed on any compared lane while it compares at its commit', async () => {
    const { deps, send } = fixture('commit');
    let plain: ReturnType<typeof send> | undefined;
    const order: string[] = [];
    let looks = 0;
    const importing = importCampaign(
      {
        ...deps,
        finder: {
          async configured() {
            const found = await deps.finder.configured();
            looks += 1;
            // The third look is that of the comparison at the commit, which keeps others out by then.
            if (looks === 3) {
              plain = send([1], { lane: 'two' });
              void plain.then(() => order.push('plain'));
              await delay(300);
            }
            return found;
          },
        },
      },
      { ...onlyNew, recipients: recipients([1, 2]) },
    ).then((outcome) => {
      order.push('only new');
      return outcome;
    });
    expect(await importing).toMatchObject({ outcome: 'created', recipientCount: 2 });
    await plain;
    expect(order).toEqual(['only new', 'plain']);
  });
});

test('Volley asks again if another person has sent the text since you agreed', async () => {
  const { deps, send } = fixture('asked-again');
  const asked: (number | undefined)[] = [];
  const outcome = await importCampaign(deps, {
    message: 'Sale!',
    sentBefore: 'count',
    recipients: [1, 2].map((number) => ({ to: mobile(number) })),
    confirm: async ({ sentBefore }) => {
      asked.push(sentBefore?.recipientCount);
      if (asked.length === 1) await send([2, 3]);
      return asked.length === 1;
    },
  });
  expect(asked).toEqual([0, 1]);
  expect(outcome).toMatchObject({ outcome: 'refused', code: 'declined' });
});

test('A repeated request with an idempotency key returns its campaign, although its recipients get the text by now', async () => {
  const { send } = fixture('key');
  await send([1, 2]);
  const options = { sentBefore: 'leaveOut', idempotencyKey: 'spring' } as const;
  const created = await send([1, 2, 3], options);
  expect(created).toMatchObject({ outcome: 'created', recipientCount: 1, duplicates: 2 });
  expect(await send([1, 2, 3], options)).toMatchObject({
    outcome: 'existing',
    id: created.id,
    recipientCount: 1,
    duplicates: 2,
  });
  expect(await send([1, 2, 4], options)).toMatchObject({ outcome: 'refused', code: 'conflict' });
});

test('Beyond its limits, nothing is compared, the preview says so, and leaving out is refused', async () => {
  const { deps, send, preview } = fixture('limits');
  const text = { message: 'Sale!', sender: '12345' };
  await send([0, 1]);
  const limits = { campaigns: 2, recipients: 5, texts: 100 };
  const unchecked = async (more: Partial<typeof limits> = {}) =>
    (await earlierNumbers(deps, text, deps.clock(), { ...limits, ...more })).unchecked;
  await send([2, 3]);
  expect(await unchecked()).toBeNull();
  expect(await unchecked({ recipients: 3 })).toBe(
    'the campaigns of the last 24 hours with this text and sender have more than 3 recipients',
  );
  expect(await unchecked({ texts: 1 })).toBe('there are more than 1 campaigns of the last 24 hours');
  expect(await unchecked({ campaigns: 1 })).toBe(
    'more than 1 campaigns of the last 24 hours have this text and sender',
  );
  for (let number = 4; number < 23; number += 1) await send([number]);
  const reason = 'more than 20 campaigns of the last 24 hours have this text and sender';
  expect((await preview([1, 100])).sentBefore).toMatchObject({
    unchecked: reason,
    recipientCount: 0,
    rows: [],
  });
  const refused = { field: 'sentBefore', message: `it is not known who gets this text already: ${reason}` };
  await expect(preview([1, 100], { sentBefore: 'leaveOut' })).rejects.toMatchObject(refused);
  await expect(send([1, 100], { sentBefore: 'leaveOut' })).rejects.toMatchObject(refused);
  // The list is closed, although none of it was read.
  const csv = Readable.from(['to\n', ...Array.from({ length: 10_000 }, (_, at) => `${mobile(at)}\n`)]);
  await expect(preview([], { recipients: { csv }, sentBefore: 'leaveOut' })).rejects.toMatchObject(refused);
  expect(csv.destroyed).toBe(true);
});

test('The library compares nothing unless it is asked to', async () => {
  const { send, preview } = fixture('default');
  await send([1]);
  const again = await send([1, 2]);
  expect(again.preview).toMatchObject({ sentBefore: null });
  expect(await preview([1, 2], { sentBefore: undefined })).toMatchObject({ sentBefore: null });
});

test('If every valid recipient gets the text already, skipped invalid rows do not make the list invalid', async () => {
  const { send } = fixture('skipped');
  await send([1]);
  const recipients = [{ to: mobile(1) }, { to: 'no number' }];
  const outcome = await send([], { recipients, sentBefore: 'leaveOut', skipInvalid: true });
  expect(outcome).toMatchObject({ outcome: 'created', recipientCount: 0, duplicates: 1, invalid: 1 });
});

test('A subscriber who got the text under a former number is left out under that of today, and the other way round', async () => {
  const { send } = fixture('forms');
  const to = (...numbers: string[]) => ({ recipients: numbers.map((number) => ({ to: number })) });
  await send([], to('+551187654321', '+5511976543210', '+5491123456789'));
  const outcome = await send([], {
    ...to('+5511987654321', '+551176543210', '+541123456789'),
    sentBefore: 'leaveOut',
  });
  // Those in Argentina may be two people.
  expect(outcome).toMatchObject({ outcome: 'created', recipientCount: 1, duplicates: 2 });
});
