import type { Redis } from '../../src/base/redis/connection.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { RECIPIENT_STATE, RECIPIENT_STATES } from '../../src/campaign/states/recipient.js';
import { recordsKey, slicesKey, statusesKey } from '../../src/engine/recipients/campaign-keys.js';
import { readState, STATE_DEFAULTS, type StoredState } from '../../src/engine/store/campaigns.js';

/** The sorted sets of a lane: campaigns or requests, by the time at which something is due. */
type Queue =
  | 'running'
  | 'scheduled'
  | 'lapsing'
  | 'ended'
  | 'importing'
  | 'unpolled'
  | 'polled'
  | 'waiting'
  | 'outboxes';

/** The hashes of a lane whose values are JSON, by the number of a claim or the id of a campaign. */
type Records = 'claims' | 'polls' | 'unknown' | 'early' | 'windows' | 'failures';

/**
 * What Redis stores about a lane. Tests that make a rare state, or look behind the library, do it here, so that nothing else in them
 * depends on keys and their forms.
 */
export interface StoredLane {
  /** The gate, the ledger's totals, and the rest of the lane's record. */
  record(): Promise<Record<string, string>>;
  changeRecord(fields: Readonly<Record<string, string | number>>): Promise<void>;
  /** Null if there is no such campaign. */
  state(campaign: string): Promise<StoredState | null>;
  /** Changes members of a campaign's state, or makes a state of these. */
  changeState(campaign: string, change: object): Promise<void>;
  /**
   * Makes a campaign what it is once all its requests were answered: a letter per recipient, and what is recorded about its first request.
   * Default: it runs.
   */
  settle(campaign: string, letters: string, change?: object & { record?: string }): Promise<void>;
  /** Makes a state that cannot be read. */
  damageState(campaign: string, text?: string): Promise<void>;
  /** Sets the letters of recipients, from this ordinal. */
  setStatuses(campaign: string, letters: string, first?: number): Promise<void>;
  /** Sets what is recorded about the batch that begins at this ordinal. */
  setRecord(campaign: string, first: number, record: string): Promise<void>;
  /** Makes a slice of a list that cannot be read. */
  damageSlice(campaign: string, slice: number): Promise<void>;
  /** What an API key stores on the lane, in bytes. */
  bytesOf(key: string): Promise<number>;
  /** The members of a queue, with their times; empty if there is none. */
  queue(name: Queue): Promise<Record<string, number>>;
  enqueue(name: Queue, member: string, at: number): Promise<void>;
  dequeue(name: Queue, member: string): Promise<void>;
  /** The values of a hash, parsed. */
  all(name: Records): Promise<Record<string, unknown>>;
  put(name: Records, field: string, value: object): Promise<void>;
  remove(name: Records, field: string): Promise<void>;
}

function countsOf(letters: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const letter of letters) {
    const state = RECIPIENT_STATES.find((each) => RECIPIENT_STATE[each].letter === letter);
    if (state === undefined) throw new TypeError(`no state has the letter ${letter}`);
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
}

/** See {@link StoredLane}; `lane` is the id of the lane. */
export function storedLane(redis: Redis, prefix: string, lane: string): StoredLane {
  const keys = keyNames(prefix);
  const key = (name: string): string => keys.lane(lane, name);
  const changeState: StoredLane['changeState'] = async (campaign, change) => {
    const json = await redis.hget(key('states'), campaign);
    const before = json === null ? { ...STATE_DEFAULTS, released: [] } : JSON.parse(json);
    await redis.hset(key('states'), campaign, JSON.stringify({ ...before, ...change }));
  };
  const setStatuses: StoredLane['setStatuses'] = async (campaign, letters, first = 0) => {
    await redis.setrange(statusesKey(keys, lane, campaign), first, letters);
  };
  const setRecord: StoredLane['setRecord'] = async (campaign, first, record) => {
    await redis.hset(recordsKey(keys, lane, campaign, first), String(first), record);
  };
  return {
    record: () => redis.hgetall(key('lane')),
    async changeRecord(fields) {
      await redis.hset(key('lane'), fields);
    },
    state: (campaign) => readState(redis, keys, lane, campaign),
    changeState,
    async settle(campaign, letters, { record = '', ...change } = {}) {
      const total = letters.length;
      const places = { state: 'running', launchAt: 1, total, ordinals: total, cursor: total };
      await changeState(campaign, { ...places, counts: countsOf(letters), ...change });
      await setStatuses(campaign, letters);
      if (record !== '') await setRecord(campaign, 0, record);
    },
    async damageState(campaign, text = '{') {
      await redis.hset(key('states'), campaign, text);
    },
    setStatuses,
    setRecord,
    async damageSlice(campaign, slice) {
      await redis.hset(slicesKey(keys, lane, campaign, 'slices'), slice, 'damaged');
    },
    bytesOf: async (apiKey) => Number(await redis.hget(key('keyBytes'), `used:${apiKey}`)),
    async queue(name) {
      const flat = await redis.zrange(key(name), '0', '-1', 'WITHSCORES');
      return Object.fromEntries(
        flat.flatMap((member, at) => (at % 2 === 0 ? [[member, Number(flat[at + 1])]] : [])),
      );
    },
    async enqueue(name, member, at) {
      await redis.zadd(key(name), at, member);
    },
    async dequeue(name, member) {
      await redis.zrem(key(name), member);
    },
    async all(name) {
      const values = await redis.hgetall(key(name));
      return Object.fromEntries(Object.entries(values).map(([field, json]) => [field, JSON.parse(json)]));
    },
    async put(name, field, value) {
      await redis.hset(key(name), field, JSON.stringify(value));
    },
    async remove(name, field) {
      await redis.hdel(key(name), field);
    },
  };
}
