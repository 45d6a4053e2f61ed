import { z } from 'zod';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { NotFoundError } from '../../campaign/errors/errors.js';
import { type CheckedInput, isOver } from '../contract/input.js';
import { RECORDS_OVER, RECORDS_STATES, type RecordsState } from './states.js';
import type { RecordsRequest } from './view.js';

const ms = z.number().transform(Math.ceil);
const claimReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('claimed') }),
  /** Another request with this key is open. */
  z.object({ kind: z.literal('open'), id: z.string() }),
  z.object({ kind: z.literal('wait'), ms }),
  /** The request is not planned: another process has claimed it, or it is over. */
  z.object({ kind: z.literal('taken') }),
]);

const claimScript = loadScript(import.meta.url, './claim-records.lua', (reply) =>
  claimReply.parse(JSON.parse(String(reply))),
);
const settleScript = loadScript(import.meta.url, './settle-records.lua', (reply) => reply === 1);
const slotScript = loadScript(import.meta.url, './take-slot.lua', Number);

const whole = z.coerce.number().int();
const storedRequest = z.object({
  id: z.string(),
  /** The id of the lane. */
  lane: z.string(),
  state: z.enum(RECORDS_STATES),
  from: z.string(),
  to: z.string(),
  parameters: z.string().transform((json) => z.record(z.string(), z.string()).parse(JSON.parse(json))),
  key: z.string(),
  claimedUntil: whole,
  notBefore: whole.optional(),
  serviceId: z.string().optional(),
  word: z.string().optional(),
  reason: z.string().optional(),
  bytes: whole.optional(),
  sha256: z.string().optional(),
  /** When it was sent last. */
  sentAt: whole,
  createdAt: whole,
  updatedAt: whole,
});

/** A request as Redis has it. A claim whose process has died counts as `unknown`. */
export interface StoredRequest extends z.output<typeof storedRequest> {
  readonly credential: string;
  /** ms until it may be claimed. */
  readonly waitMs: number;
}

/** A request, by its credential and its own key. */
export type RequestKey = Pick<StoredRequest, 'credential' | 'id' | 'key'>;

/** The right to send a request. */
interface RecordsClaim {
  /** Random id. */
  readonly claim: string;
  /** How long the claim and its slot last. */
  readonly leaseMs: number;
  /** How many requests of the credential may be in flight. */
  readonly limit: number;
  /** Of a new request. */
  readonly details: (CheckedInput & { readonly lane: string }) | undefined;
  /** Create another request although one with the same key is open. */
  readonly again: boolean;
  /** The request with the same key that the new one replaces; empty for none. */
  readonly replaces: string;
}

/** A change of a request's state. */
export interface RecordsChange {
  readonly state: RecordsState;
  readonly serviceId?: string;
  readonly word?: string;
  readonly reason?: string;
  readonly bytes?: number;
  readonly sha256?: string;
}

/** A slot of a credential, for requests other than the one for records. */
interface Slot {
  readonly holder: string;
  readonly leaseMs: number;
  readonly limit: number;
}

/** Long enough for a failover, short enough for a caller that waits. */
const RETRY = { tries: 6 };
/** An outcome that Redis never receives becomes unknown, so it is offered for about a minute. */
const SETTLE_TRIES = 60;
/** Requests listed at a time. */
const PER_READ = 200;

/** The requests for call records in Redis. Each call retries until Redis answers, as it may safely run twice. */
export function recordsStore(redis: Redis, keys: Keys, retentionMs: number) {
  const request = (credential: string, id: string): string => keys.records(credential, `request:${id}`);
  const slots = (credential: string): string => keys.records(credential, 'slots');
  const all = (credential: string): string => keys.records(credential, 'all');
  const keysOf = ({ credential, id, key }: RequestKey) => ({
    request: request(credential, id),
    named: keys.records(credential, `key:${key}`),
    slots: slots(credential),
  });
  const answered = <Answer>(run: () => Promise<Answer>): Promise<Answer> => untilAnswered(run, RETRY);
  const credentials = (): Promise<string[]> => answered(() => redis.smembers(keys.recordsCredentials));

  /** The requests with these ids, null for those that do not exist. */
  async function readAll(
    wanted: readonly Pick<RequestKey, 'credential' | 'id'>[],
  ): Promise<(StoredRequest | null)[]> {
    const [now, ...rows] = await answered(() =>
      Promise.all([
        serverTime(redis),
        ...wanted.map(({ credential, id }) => redis.hgetall(request(credential, id))),
      ]),
    );
    return rows.map((row, at) => {
      if (row['id'] === undefined) return null;
      const stored = storedRequest.parse(row);
      const isLost = stored.state === 'requesting' && now >= stored.claimedUntil;
      return {
        ...stored,
        ...(isLost && { state: 'unknown' as const, reason: LOST }),
        credential: wanted[at]?.credential ?? '',
        waitMs: Math.max(0, (stored.notBefore ?? 0) - now),
      };
    });
  }

  return {
    /** Claims a request, and creates it if it is new: afterwards it may be sent once. */
    async claim(wanted: RequestKey, { details, again, ...claim }: RecordsClaim) {
      const { credential, id, key } = wanted;
      if (details !== undefined) await answered(() => redis.sadd(keys.recordsCredentials, credential));
      const { lane, from, to, parameters } = details ?? {};
      const fields = details && { lane, from, to, parameters: JSON.stringify(parameters), key };
      const args = { ...claim, id, again: again ? '1' : '', details: JSON.stringify(fields ?? false) };
      return answered(() => claimScript.run(redis, { ...keysOf(wanted), all: all(credential) }, args));
    },

    /**
     * Changes a request that is in one of the states `from`, or whose latest claim is `claim`. Returns whether it did.
     * `waitMs`: before it may be claimed again.
     */
    settle(
      settled: RequestKey,
      from: readonly RecordsState[],
      changes: RecordsChange,
      { claim = '', waitMs = 0 }: { claim?: string; waitMs?: number } = {},
    ): Promise<boolean> {
      const args = {
        ...{ id: settled.id, claim, waitMs },
        from: JSON.stringify(from),
        changes: JSON.stringify({ reason: '', ...changes }),
        retentionMs: RECORDS_OVER.includes(changes.state) ? retentionMs : 0,
      };
      return untilAnswered(() => settleScript.run(redis, keysOf(settled), args), { tries: SETTLE_TRIES });
    },

    /** Takes a slot. Returns 0, or the ms after which to try again. */
    takeSlot: (credential: string, slot: Slot): Promise<number> =>
      answered(() => slotScript.run(redis, { slots: slots(credential) }, { ...slot, renew: '' })),

    /** Prolongs a slot. Returns whether it was still held. */
    renewSlot: async (credential: string, slot: Slot): Promise<boolean> =>
      (await slotScript.run(redis, { slots: slots(credential) }, { ...slot, renew: '1' })) === 0,

    async releaseSlot(credential: string, holder: string): Promise<void> {
      await answered(() => redis.zrem(slots(credential), holder));
    },

    /** Rejects with a NotFoundError if there is no such request. */
    async read(id: string): Promise<StoredRequest> {
      const wanted = (await credentials()).map((credential) => ({ credential, id }));
      const stored = (await readAll(wanted)).find((each) => each !== null);
      if (stored) return stored;
      throw new NotFoundError(
        `there is no request for call records ${id}; \`volley records list\` shows all`,
      );
    },

    credentials,

    /** The requests of a credential, newest first. */
    async *list(credential: string): AsyncGenerator<StoredRequest> {
      const ids = await answered(() => redis.zrange(all(credential), '0', '-1', 'REV'));
      for (let at = 0; at < ids.length; at += PER_READ) {
        const some = ids.slice(at, at + PER_READ);
        const stored = await readAll(some.map((id) => ({ credential, id })));
        const gone = some.filter((_, each) => stored[each] === null);
        if (gone.length > 0) await answered(() => redis.zrem(all(credential), ...gone));
        yield* stored.filter((each) => each !== null);
      }
    },
  };
}

/** See {@link recordsStore}. */
export type RecordsStore = ReturnType<typeof recordsStore>;

/** Whether the last day of a request was over when it was sent. */
const isLastDayOver = ({ to, sentAt }: StoredRequest): boolean => isOver(to, sentAt);

/**
 * Whether a file may lack calls that a new request would bring: the request was sent before its last day was over, and the file was
 * downloaded already, or the day is over now. An outcome that is not known is never repeated by itself.
 */
export function mayLackCalls(stored: StoredRequest, now: number): boolean {
  const { state, to } = stored;
  const isOpen = state === 'pending' || state === 'ready';
  return !isLastDayOver(stored) && (state === 'downloaded' || (isOpen && isOver(to, now)));
}

const LOST = 'the process ended between the request and its response';

/** A request for people and programs. */
export function viewOf(stored: StoredRequest, lane: string): RecordsRequest {
  const { id, state, from, to, parameters, createdAt, updatedAt } = stored;
  const { serviceId = null, word = null, bytes = null, sha256 = null } = stored;
  return {
    ...{ id, lane, state, from, to, parameters, serviceId, word },
    lastDayOver: isLastDayOver(stored),
    reason: stored.reason || null,
    ...{ bytes, sha256 },
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  };
}
