import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from '../../../src/base/redis/connection.js';
import type { LaneName } from '../../../src/base/redis/keys.js';
import { readLua } from '../../../src/base/redis/script.js';
import type { OutboxChange } from '../../../src/campaign/views/outbox-views.js';
import type { RecipientResult } from '../../../src/campaign/views/recipient-views.js';
import { confirmClaim } from '../../../src/engine/claim/claims.js';
import type { StoredMessage } from '../../../src/engine/recipients/outbox-messages.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import { campaignContent } from '../../../src/engine/sending/campaign-content.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import type { OutboxDefinition } from '../../../src/intake/outbox/definition/settings.js';
import type { WaitingMessage } from '../../../src/intake/outbox/definition/stored-message.js';
import { cancelAllWaiting } from '../../../src/intake/outbox/messages/cancel-all.js';
import { definitionOf } from '../../../src/intake/outbox/messages/change-outbox.js';
import { type Entry, outboxStore, type PutReplies } from '../../../src/intake/outbox/messages/store.js';
import { settingsReplacer } from '../../../src/intake/outbox/set-outbox.js';
import { lapseDue, tendOutboxes } from '../../../src/intake/outbox/tending/tend-lane.js';
import { outboxResults } from '../../../src/intake/outbox/views/outbox-results.js';
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
/** How long after its claim a message is followed up at most. */
export const OPEN_FOR_MS = 2 * RETENTION_MS;

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
  const store = outboxStore(lane.store, name);
  const own = storedOutbox(lane.store, name);
  const { read } = own;
  /** Puts messages that were checked by the settings that the outbox has now. */
  const putChecked = async (entries: readonly Entry[], isFull = false): Promise<PutReplies> => {
    const { edition, settings: known } = await read();
    const { revision } = known;
    const checked = entries.map((entry) => ({ ...entry, message: { revision, ...entry.message } }));
    return outboxStore(lane.store, name, { edition }).put(checked, now, isFull);
  };
  let now = START;
  let turns = 0;
  await own.create({ lateMs });

  const tending = () => ({ clock: () => now, retentionMs: RETENTION_MS, openForMs: OPEN_FOR_MS, now });
  // As a worker reads them, with its cache.
  const content = campaignContent(lane.store);
  /** What was claimed. */
  const messagesOf = async (claims: readonly SendClaim[]): Promise<(StoredMessage & { id: string })[]> =>
    (await store.findAll(claims.map(({ message = '' }) => message))).flatMap((message, at) =>
      message === null ? [] : [{ ...message, id: claims[at]?.message ?? '' }],
    );
  /** Does what the outbox has to do beside sending, as claims and the sweep do. Returns how many messages have lapsed. */
  const tend = async (): Promise<{ lapsed: number }> => {
    const { lapsed: before } = await own.counts();
    await lapseDue(lane.store, now);
    await tendOutboxes(lane.store, tending());
    return { lapsed: (await own.counts()).lapsed - before };
  };
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
      const { replies } = await putChecked([{ id, message }]);
      return replies[0] ?? { outcome: 'none', due: null };
    },
    /** Puts messages as they are. With `isFull`, Redis has no room. */
    putMany: putChecked,
    /** Puts messages that are due now. */
    putAllNow: (ids: readonly string[]) => putChecked(ids.map((id) => ({ id, message: NOW }))),
    /** Cancels a message, wherever it is. */
    cancel: async (id: string, version: number | null = null): Promise<string> =>
      (await store.cancel(id, { version, time: now })).outcome,
    /** Cancels everything that waits, as an operator does. */
    cancelAll: () => cancelAllWaiting({ ...lane.store, emit: () => {} }, name, now),
    tend,
    /** Does what is done if no process serves the lane. */
    lapseDue: () => lapseDue(lane.store, now),
    /** Claims in a new turn. */
    async claim(want = 100): Promise<readonly SendClaim[]> {
      turns += 1;
      return (await lane.claims.send({ turn: `turn-${turns}`, call: 1, want, now })).claims;
    },
    messagesOf,
    /** The text with which a claim is sent. */
    async textOf(claim: SendClaim): Promise<string> {
      const { template } = await content.text(claim);
      const [recipient] = await content.recipients(claim, 1);
      return template.render(recipient?.values ?? []);
    },
    /** Whether a claim still holds right before its request. */
    confirm: ({ number, turn }: SendClaim) => confirmClaim(lane.store, 'send', { number, turn }),
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
    /** The connection of a process that does this right before it changes the settings of the outbox. */
    beforeChange: (run: () => Promise<unknown>): Redis =>
      new Proxy(redis, {
        get(target, property) {
          if (property !== 'evalsha') return Reflect.get(target, property, target);
          return async (sha: string, ...rest: unknown[]): Promise<unknown> => {
            if (sha === CHANGE) await run();
            return Reflect.apply(target.evalsha, target, [sha, ...rest]);
          };
        },
      }),
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
      const replace = settingsReplacer(
        {
          redis: over,
          keys: lane.keys,
          wakers: { wake: async () => {} },
          clock: () => now,
          config: { keyBytes: 0, prices: undefined },
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
      claims.map(({ message = '' }) => message),
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
