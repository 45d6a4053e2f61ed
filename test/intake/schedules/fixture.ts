import type { Redis } from '../../../src/base/redis/connection.js';
import { NO_KEY, type Payer } from '../../../src/engine/recipients/key-bytes.js';
import { occurrenceDigest } from '../../../src/engine/recipients/reservation.js';
import { listCampaigns } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import type { RecipientInput } from '../../../src/intake/import/read-objects.js';
import type { OccurDeps, ProvidedList } from '../../../src/intake/schedules/occur.js';
import { scheduleStore } from '../../../src/intake/schedules/store.js';
import type { Definition } from '../../../src/intake/schedules/stored-schedule.js';
import { sweepSchedules } from '../../../src/intake/schedules/sweep.js';
import { nextOccurrence } from '../../../src/intake/schedules/timetable.js';
import { OPERATOR } from '../../app/access/operator.js';
import { importFixture, mobile } from '../import/import-fixture.js';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** Monday, nine o'clock. */
export const MONDAY = Date.UTC(2030, 4, 6, 9);

interface SweepOptions {
  readonly signal?: AbortSignal;
  readonly timing?: Parameters<typeof sweepSchedules>[4];
}

/** Schedules on a real Redis, under a clock that the test sets. */
export function scheduleFixture(redis: Redis, prefix: string, settings: Record<string, string> = {}) {
  const { deps, config, keys, lane, emitted, stored } = importFixture(redis, prefix, settings);
  let now = MONDAY - HOUR;
  const store = scheduleStore(redis, keys, () => now);
  const provided = new Map<string, ProvidedList>();
  const occurDeps: OccurDeps = {
    redis,
    keys,
    store,
    events: deps.events,
    retentionMs: 30 * DAY,
    provided,
    laneOf: (id) => (id === lane ? { name: id } : undefined),
    enqueue: (input, actor, { createdBy: paidBy, limits, runBy }) =>
      importCampaign(
        {
          ...{ ...deps, by: { ...OPERATOR, actor, limits }, digestOf: occurrenceDigest, paidBy },
          requestedBy: runBy ?? undefined,
        },
        input,
      ),
  };
  const errors: unknown[] = [];
  const { due, one, failing, ids } = keys.schedules;
  return {
    ...{ deps, config, keys, lane, emitted, stored, store, provided, occurDeps, errors },
    /** When the schedule is looked at next; null: not at all. */
    async dueAt(id: string): Promise<number | null> {
      const at = await redis.zscore(due, id);
      return at === null ? null : Number(at);
    },
    setDue: (id: string, at: number) => redis.zadd(due, at, id),
    setRecipients: (id: string, recipients: readonly RecipientInput[]) =>
      redis.hset(one(id), 'recipients', JSON.stringify(recipients)),
    /** The schedules that are paused because of their failures. */
    failing: () => redis.smembers(failing),
    /** The keys of all schedules. */
    keysOfSchedules: () => redis.keys(`${ids.replace(/ids$/, '')}*`),
    setNow(at: number): void {
      now = at;
    },
    /** One sweep by a process of its own. */
    async sweep(
      change: Partial<OccurDeps> = {},
      { signal = new AbortController().signal, timing }: SweepOptions = {},
    ): Promise<void> {
      const failed = (error: unknown): void => void errors.push(error);
      await sweepSchedules({ ...occurDeps, ...change }, new Set(), signal, failed, timing);
    },
    /** Adds a schedule, or replaces the one with its id. */
    async add(
      id: string,
      change: Partial<Definition> = {},
      recipients: readonly RecipientInput[] = [{ to: mobile(1) }, { to: mobile(2) }],
      payer: Payer = NO_KEY,
      by: Pick<Parameters<typeof store.add>[3], 'createdBy' | 'limits'> = { createdBy: OPERATOR.actor },
    ): Promise<string> {
      const definition: Definition = {
        name: id,
        lane,
        cron: '0 9 * * *',
        zone: 'UTC',
        overlap: 'skip',
        catchUpMs: HOUR,
        source: { kind: 'inline', recipientCount: recipients.length },
        campaign: { message: 'Hello' },
        ...change,
      };
      const next = nextOccurrence(definition, now);
      const before = await store.read(id);
      const replaces = before === null ? undefined : { isTimed: before.definition.cron !== definition.cron };
      const more = { ...by, next, payer, replaces };
      const { result } = await store.add(id, definition, recipients, more);
      if (before !== null) await store.discardReplaced(before);
      return result;
    },
    /** The campaigns that exist, oldest first. */
    async campaigns(): Promise<string[]> {
      const ids: string[] = [];
      for await (const { id } of listCampaigns(redis, keys)) ids.push(id);
      return ids.reverse();
    },
    /** What became of the occurrences, oldest first: `outcome`, and the hours after {@link MONDAY}. */
    async outcomes(id: string): Promise<string[]> {
      const found = await store.occurrences(id, 100);
      return found.reverse().map(({ at, outcome }) => `${outcome} ${(at - MONDAY) / HOUR}`);
    },
  };
}
