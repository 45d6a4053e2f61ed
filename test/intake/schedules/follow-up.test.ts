import { beforeEach, expect, test } from 'vitest';
import { RECIPIENT_STATE, type RecipientState } from '../../../src/campaign/states/recipient.js';
import { occurrenceDigest } from '../../../src/engine/recipients/reservation.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { scheduleStore } from '../../../src/intake/schedules/store.js';
import { reportRows } from '../../../src/reporting/report.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from '../import/import-fixture.js';
import { DAY, HOUR, MONDAY, scheduleFixture } from './fixture.js';
import { mortalProcess, POINTS } from './mortal-process.js';

const { prefix, redis } = testRedis('follow-ups');
const ID = 'reminder';
const AFTER = 6 * HOUR;
let run = 0;
let fixture: ReturnType<typeof scheduleFixture>;
let source: string;
beforeEach(async () => {
  run += 1;
  fixture = scheduleFixture(redis, `${prefix}-${run}`);
  fixture.setNow(MONDAY);
  const recipients = [1, 2, 3].map((at) => ({ to: mobile(at), name: `N${at}` }));
  const outcome = await importCampaign(fixture.deps, { message: 'Hi {{name}}', recipients });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  source = outcome.id;
  await become(['rejected', 'deliveredToTerminal', 'deliveredToTerminal']);
});

/** Sets the states of the three recipients, and of the campaign, which started on Monday at nine. */
async function become(states: readonly RecipientState[], more: object = {}): Promise<void> {
  const { stored } = fixture;
  await stored.setState(source, {
    ...{ state: 'running', total: 3, ordinals: 3, cursor: 3, counts: {}, launchAt: MONDAY },
    ...more,
  });
  await stored.setLetters(source, states.map((state) => RECIPIENT_STATE[state].letter).join(''));
}

/** Adds a follow-up for those who failed. */
async function follow(status: readonly string[] = ['rejected'], id = ID): Promise<void> {
  const { store, lane } = fixture;
  const definition = {
    ...{ name: id, lane, cron: '', zone: 'UTC', catchUpMs: HOUR },
    overlap: 'skip' as const,
    source: { kind: 'results' as const, campaign: source, status, after: '6h' },
    campaign: { message: 'Again {{name}}' },
  };
  await store.add(id, definition, null, { createdBy: OPERATOR.actor, next: MONDAY + AFTER });
}

/** The recipients of each campaign besides the source. */
async function sent(): Promise<string[][]> {
  const lists: string[][] = [];
  for (const id of await fixture.campaigns()) {
    if (id === source || (await fixture.stored.state(id)).state === 'importing') continue;
    const list: string[] = [];
    for await (const { to } of reportRows(redis, fixture.keys, id, {})) list.push(to ?? '');
    lists.push(list);
  }
  return lists;
}

const read = () => fixture.store.read(ID);
/** What became of it: the outcome, its reason, and the state of the schedule. */
async function end(): Promise<(string | undefined)[]> {
  const [last] = await fixture.store.occurrences(ID, 1);
  return [last?.outcome, last?.reason, (await read())?.state];
}

test('A follow-up goes once to those who have the states when it is due, and ends', async () => {
  await follow();
  fixture.setNow(MONDAY + AFTER - 1);
  await fixture.sweep();
  expect(await sent()).toEqual([]);
  await become(['deliveredToTerminal', 'rejected', 'deliveredToTerminal']);
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  await become(['rejected', 'rejected', 'rejected']);
  await fixture.store.change(ID, 'resume', { next: MONDAY });
  fixture.setNow(MONDAY + DAY);
  await fixture.sweep();
  expect(await sent()).toEqual([[mobile(2)]]);
  expect(await end()).toEqual(['created', undefined, 'ended']);
  expect(await fixture.dueAt(ID)).toBe(null);
});

test('A follow-up whose campaign starts later is due later', async () => {
  await follow();
  await become([], { state: 'scheduled', launchAt: MONDAY + DAY, cursor: 0, counts: { planned: 3 } });
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  expect([await sent(), (await read())?.next]).toEqual([[], MONDAY + DAY + AFTER]);
  await become(['rejected', 'rejected', 'deliveredToTerminal'], { launchAt: MONDAY + DAY });
  fixture.setNow(MONDAY + DAY + AFTER);
  await fixture.sweep();
  expect(await sent()).toEqual([[mobile(1), mobile(2)]]);
});

test('A follow-up waits while its campaign is paused', async () => {
  await follow();
  await become(['rejected', 'rejected', 'rejected'], { state: 'paused' });
  for (const halves of [0, 1, 2, 3, 4, 5, 6]) {
    fixture.setNow(MONDAY + AFTER + (halves * HOUR) / 2);
    await fixture.sweep();
  }
  expect([await sent(), await read()]).toMatchObject([[], { waiting: MONDAY + AFTER, state: 'active' }]);
  await become(['rejected', 'rejected', 'rejected']);
  fixture.setNow(MONDAY + AFTER + 3 * HOUR + 60_000);
  await fixture.sweep();
  expect(await sent()).toHaveLength(1);
});

test('A follow-up of a cancelled campaign is skipped, unless it is for those who were cancelled', async () => {
  await follow(['rejected']);
  await follow(['cancelled', 'rejected'], 'sorry');
  await become(['rejected', 'cancelled', 'deliveredToTerminal'], { state: 'cancelled' });
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  expect(await end()).toEqual(['skipped', `campaign ${source} was cancelled`, 'ended']);
  expect(await sent()).toEqual([[mobile(1), mobile(2)]]);
  expect(fixture.emitted).toContainEqual(expect.objectContaining({ type: 'schedule.skipped', schedule: ID }));
});

test('A follow-up without recipients is skipped, and one that is late is missed', async () => {
  await follow();
  await become(['deliveredToTerminal', 'deliveredToTerminal', 'deliveredToTerminal']);
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  const none = `no recipient of campaign ${source} has the state rejected`;
  expect(await end()).toEqual(['skipped', none, 'ended']);
  await fixture.store.change(ID, 'remove');
  await become(['rejected', 'rejected', 'rejected']);
  await follow();
  fixture.setNow(MONDAY + AFTER + HOUR + 1);
  await fixture.sweep();
  expect(await end()).toEqual(['missed', 'no worker ran in time', 'ended']);
  expect(await sent()).toEqual([]);
});

test('A follow-up of a campaign that was removed fails, is paused, and is reported as failing', async () => {
  await follow();
  await become(['rejected', 'rejected', 'rejected'], { state: 'completed', endedAt: MONDAY });
  await removeCampaign(redis, fixture.keys, fixture.lane, source);
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  const [outcome, reason, state] = await end();
  expect([outcome, state]).toEqual(['failed', 'paused']);
  expect(reason).toMatch(`campaign ${source} does not exist`);
  expect((await read())?.reason).toBe(reason);
  expect(await fixture.failing()).toEqual([ID]);
});

test('A follow-up that is paused or removed sends nothing; one that is resumed sends once', async () => {
  await follow();
  await follow(['rejected'], 'removed');
  await fixture.store.change(ID, 'pause', { reason: 'by a test' });
  await fixture.store.change('removed', 'remove');
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  expect(await sent()).toEqual([]);
  await fixture.store.change(ID, 'resume', { next: MONDAY + DAY });
  fixture.setNow(MONDAY + DAY);
  await fixture.sweep();
  expect(await sent()).toEqual([[mobile(1)]]);
});

test('A follow-up that is run before its time creates its only campaign then', async () => {
  await follow();
  await fixture.store.change(ID, 'run');
  await fixture.sweep();
  expect((await read())?.state).toBe('ended');
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  await fixture.store.change(ID, 'run');
  await fixture.sweep();
  expect(await sent()).toEqual([[mobile(1)]]);
});

test('An ended follow-up is removed after the retention period, when another one ends', async () => {
  await follow();
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  for (const [days, left] of [
    [29, [ID, 'other']],
    [31, ['another', 'other']],
  ] as const) {
    await become(['rejected', 'rejected', 'rejected'], { launchAt: MONDAY + days * DAY });
    await follow(['rejected'], days === 29 ? 'other' : 'another');
    fixture.setNow(MONDAY + days * DAY + AFTER);
    await fixture.sweep();
    await fixture.sweep();
    const refs: string[] = [];
    for await (const { id } of fixture.store.refs()) refs.push(id);
    expect(refs.sort()).toEqual([...left].sort());
  }
});

const deaths = POINTS.flatMap((point) => [false, true].map((isAfter) => ({ point, isAfter })));

test.each(deaths)('A worker that dies at $point (after: $isAfter) leaves one campaign', async (diesAt) => {
  await follow();
  fixture.setNow(MONDAY + AFTER);
  const worker = mortalProcess(redis, { diesAt }, async () => {});
  const { deps } = importFixture(worker.redis, `${prefix}-${run}`);
  const timing = { clock: () => 0, monotonic: () => 0, uptime: () => 0, alarm: () => () => {} };
  await fixture
    .sweep(
      {
        redis: worker.redis,
        store: scheduleStore(worker.redis, fixture.keys, () => MONDAY + AFTER),
        enqueue: (input, actor) =>
          importCampaign(
            {
              ...{ ...deps, importLeaseMs: 30, digestOf: occurrenceDigest },
              by: { ...OPERATOR, actor },
            },
            input,
          ),
      },
      { timing },
    )
    .catch(() => {});
  expect(worker.isDead()).toBe(true);
  fixture.setNow(MONDAY + AFTER + 30_000);
  await fixture.sweep();
  expect(await sent()).toEqual([[mobile(1)]]);
  expect(await end()).toEqual(['created', undefined, 'ended']);
});

test('When Redis has lost the outcome of a follow-up, its campaign is found, and no other is created', async () => {
  await follow();
  const { due, one, ended } = fixture.keys.schedules;
  const before = await redis.dumpBuffer(one(ID));
  fixture.setNow(MONDAY + AFTER);
  await fixture.sweep();
  await redis.restore(one(ID), 0, before as never, 'REPLACE');
  await redis.zrem(ended, ID);
  await redis.zadd(due, MONDAY + AFTER, ID);
  await become(['rejected', 'rejected', 'rejected']);
  fixture.setNow(MONDAY + AFTER + 60_000);
  await fixture.sweep();
  expect(await sent()).toEqual([[mobile(1)]]);
  expect((await read())?.state).toBe('ended');
});
