import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from '../../../src/base/redis/connection.js';
import type { LaneName } from '../../../src/base/redis/keys.js';
import { readLua } from '../../../src/base/redis/script.js';
import type { OutboxChange } from '../../../src/campaign/views/outbox-views.js';
import type { RecipientResult } from '../../../src/campaign/views/recipient-views.js';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { sliceReader } from '../../../src/engine/recipients/slices.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { editionOf, type OutboxDefinition } from '../../../src/intake/outbox/definition/settings.js';
import type { WaitingMessage } from '../../../src/intake/outbox/definition/stored-message.js';
import { cancelAllWaiting } from '../../../src/intake/outbox/messages/cancel-all.js';
import { definitionOf } from '../../../src/intake/outbox/messages/change-outbox.js';
import {
  type Entry,
  outboxStore,
  type PutOptions,
  type PutReplies,
} from '../../../src/intake/outbox/messages/store.js';
import { settingsReplacer } from '../../../src/intake/outbox/set-outbox.js';
import { outboxResults } from '../../../src/intake/outbox/views/outbox-results.js';
import { lapseDue, tendDue } from '../../../src/intake/outbox/waves/tend-lane.js';
import { tendOutbox } from '../../../src/intake/outbox/waves/tend-outbox.js';
import { asMessage, type WaveMessage } from '../../../src/intake/outbox/waves/wave.js';
import { recipientReader } from '../../../src/reporting/recipient-reader.js';
import { createResultsFeed } from '../../../src/reporting/results-feed.js';
import { OPERATOR } from '../../app/access/operator.js';
import { laneFixture, START } from '../../engine/lane/lane-fixture.js';
import { LATE_MS, storedOutbox } from './stored-outbox.js';

export { LATE_MS };

/** The hash of a script of an outbox. */
const hashOf = (script: string): string =>
  createHash('sha1')
    .update(readLua(new URL(`../../../src/intake/outbox/${script}.lua`, import.meta.url)))
    .digest('hex');
const TEND = hashOf('waves/tend-outbox');
const CHANGE = hashOf('messages/change-outbox');

/** A message that is due now. */
export const NOW: WaitingMessage = {
  due: 0,
  version: null,
  number: '+447700900123',
  values: ['Ada'],
  reference: '',
};

export const RETENTION_MS = 86_400_000;

/** An outbox on a real Redis, whose time the test sets. */
export async function outboxFixture(
  redis: Redis,
  prefix: string,
  change: Partial<ScriptRules> = {},
  lateMs = LATE_MS,
) {
  const laneId = `lane-${randomUUID().slice(0, 8)}`;
  const name = 'dentist';
  const lane = laneFixture(redis, prefix, laneId, { quota: 100_000, ...change });
  const store = outboxStore(lane.store, name, { lateMs });
  const own = storedOutbox(lane.store, name);
  const { read } = own;
  /** Puts messages that were checked by the settings that the outbox has now. */
  const putChecked = async (entries: readonly Entry[], options: PutOptions): Promise<PutReplies> => {
    const { edition, settings: known } = await read();
    const { revision } = known;
    const checked = entries.map((entry) => ({ ...entry, message: { revision, ...entry.message } }));
    return outboxStore(lane.store, name, { edition, lateMs }).put(checked, options);
  };
  let now = START;
  let turns = 0;
  await own.create({ lateMs });

  const tending = () => ({ random: Math.random, clock: () => now, retentionMs: RETENTION_MS, now });
  // As a worker reads them, with its cache.
  const slices = sliceReader(redis, lane.keys, laneId);
  /** What was claimed. */
  const messagesOf = async (claims: readonly SendClaim[]): Promise<WaveMessage[]> =>
    (await Promise.all(claims.map(({ campaign, first, count }) => slices.recipients(campaign, first, count))))
      .flat()
      .map(asMessage);
  return {
    ...lane,
    ...own,
    store,
    laneStore: lane.store,
    name,
    laneId,
    now: () => now,
    advance(ms: number): void {
      now += ms;
    },
    /** Puts a message that is due in `inMs`; undefined: now. */
    async put(id: string, inMs?: number, more: Partial<WaitingMessage> = {}) {
      const due = inMs === undefined ? 0 : Math.ceil((now + inMs) / 1_000);
      const message = { ...NOW, due, ...more };
      const { replies } = await putChecked([{ id, message }], { now });
      return replies[0] ?? { outcome: 'none', due: null, place: null };
    },
    /** Puts a message that is due now as a client does: planned at once if that is possible, else waiting. */
    async putNow(id: string, more: Partial<WaitingMessage> = {}) {
      const { replies } = await putChecked([{ id, message: { ...NOW, ...more } }], { plans: true, now });
      return replies[0] ?? { outcome: 'none', due: null, place: null };
    },
    /** Puts messages that are due now as a client does. */
    putAllNow: (ids: readonly string[]) =>
      store.put(
        ids.map((id) => ({ id, message: NOW })),
        { plans: true, now },
      ),
    /** Cancels a message, wherever it is. */
    cancel: async (id: string, version: number | null = null): Promise<string> =>
      (await store.cancel(id, { version, now, retentionMs: RETENTION_MS, time: now })).outcome,
    /** Cancels everything that waits, as an operator does. */
    cancelAll() {
      const { campaign, ...others } = commandStore(lane.store);
      const commands = {
        ...others,
        campaign: (action: 'pause' | 'resume' | 'cancel', id: string, reason?: string) =>
          campaign(action, id, reason, now),
      };
      const operated = { ...lane.store, clock: () => now, emit: () => {}, commands };
      return cancelAllWaiting(operated, name, RETENTION_MS, 'a test');
    },
    tend: () => tendOutbox(lane.store, name, tending()),
    /** Tends the outbox if it has something to do, as turns and the sweep do. */
    tendDue: () => tendDue(lane.store, tending()),
    /** Does what is done if no process serves the lane. */
    lapseDue: () => lapseDue(lane.store, tending()),
    /** Tends the outbox, and does something between the steps of it: before its script runs for the `round`th time. */
    tendWhile(meanwhile: () => Promise<unknown>, round = 1) {
      let rounds = 0;
      const between = new Proxy(redis, {
        get(target, property) {
          if (property !== 'evalsha') return Reflect.get(target, property, target);
          return async (sha: string, ...rest: unknown[]): Promise<unknown> => {
            if (sha === TEND) {
              rounds += 1;
              if (rounds === round) await meanwhile();
            }
            return Reflect.apply(target.evalsha, target, [sha, ...rest]);
          };
        },
      });
      return tendOutbox({ ...lane.store, redis: between }, name, tending());
    },
    /** Claims in a new turn. */
    async claim(want = 100): Promise<readonly SendClaim[]> {
      turns += 1;
      return (await lane.claims.send({ turn: `turn-${turns}`, call: 1, want, now })).claims;
    },
    messagesOf,
    /** The text of the wave of a claim. */
    async textOf({ campaign }: SendClaim): Promise<string> {
      return (await readMeta(redis, lane.keys, laneId, campaign))?.text ?? '';
    },
    /** The connection of a process that dies when it has changed the settings of the outbox. */
    dyingAfterChange(): Redis {
      let isDead = false;
      return new Proxy(redis, {
        get(target, property) {
          if (property !== 'evalsha') return Reflect.get(target, property, target);
          return async (sha: string, ...rest: unknown[]): Promise<unknown> => {
            if (isDead) throw new Error('the process is dead');
            const reply = await Reflect.apply(target.evalsha, target, [sha, ...rest]);
            isDead = sha === CHANGE;
            return reply;
          };
        },
      });
    },
    /** Gives the outbox other settings. `over`: another connection. */
    async set(
      changes: Partial<OutboxDefinition>,
      {
        values,
        over = redis,
        isPreview = false,
      }: {
        readonly values?: Readonly<Record<string, string>>;
        readonly over?: Redis;
        readonly isPreview?: boolean;
      } = {},
    ): Promise<OutboxChange> {
      const { settings: before, edition } = await read();
      if (edition === '') await own.change({ edition: editionOf(before) });
      const replace = settingsReplacer(
        {
          redis: over,
          keys: lane.keys,
          wakers: { wake: async () => {} },
          clock: () => now,
          random: Math.random,
          config: { keyBytes: 0, retentionMs: RETENTION_MS, prices: undefined },
          now: () => now,
        },
        OPERATOR,
        name,
        async () => ({
          lane: {
            settings: { name: lane.store.id },
            ...lane.store,
            redis: over,
            name: laneId as LaneName,
            emit: () => {},
            status: async () => ({ now, sendAt: -1, pollAt: -1 }),
          },
          settings: (await read()).settings,
          forget: () => {},
        }),
      );
      return replace((stored) => ({ ...definitionOf(stored), ...changes }), { values, isPreview });
    },
    /** The ids of what was claimed. */
    idsOf: async (claims: readonly SendClaim[]): Promise<string[]> =>
      (await messagesOf(claims)).map((message) => message.id),
    settle: (claims: readonly SendClaim[], result: 'accepted' | 'released' | 'unknown') =>
      lane.settlements.send(
        claims.map((claim) =>
          result === 'released'
            ? { claim, result }
            : {
                claim,
                result,
                letters: result === 'accepted' ? 'N' : '-',
                requestId: `r-${claim.number}`,
                reason: '',
              },
        ),
        0.5,
        now,
      ),
    /** The states of a wave's recipients, in order. */
    async letters(wave: string) {
      const chunk = await recipientReader(redis, lane.keys, laneId, wave).chunk(0, () => true);
      return chunk?.records.map(({ state }) => state) ?? [];
    },
    /** A platform that follows the results of the lane. Returns what is new. */
    follow() {
      const finder = { idOf: async (own: string) => own, nameOf: async (own: string) => own };
      const { keys } = lane;
      const feed = createResultsFeed({ redis, keys, finder, outboxes: outboxResults(redis, keys) });
      let after: string | undefined;
      return async (): Promise<RecipientResult[]> => {
        const results: RecipientResult[] = [];
        for (;;) {
          const page = await feed.results({ cursor: after, limit: 100, lanes: [laneId] });
          results.push(...page.results);
          after = page.nextCursor;
          if (!page.hasMore) return results;
        }
      };
    },
  };
}
