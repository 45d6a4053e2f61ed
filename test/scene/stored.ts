import { perName, RECIPIENT_STATE, RECIPIENT_STATES } from '../../src/campaign/states/recipient.js';
import { type Cause, type Closed, parseClosed } from '../../src/engine/lane/closed.js';
import { recordsKey, slicesKey, statusesKey } from '../../src/engine/recipients/campaign-keys.js';
import { locateRequests } from '../../src/engine/recipients/request-index.js';
import type { LaneStore } from '../../src/engine/scripts/lane-script.js';
import { parseState, STATE_DEFAULTS, stateMembers } from '../../src/engine/store/campaigns.js';

/** A campaign as the tests read it: every count is there, also those of 0. */
export type ReadState = { state: string; counts: Record<string, number> } & Record<string, unknown>;

/** A claim as Redis stores it, of which a placeholder has more. */
export interface StoredClaim {
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  readonly placeholder?: string;
  readonly notAfter?: number;
  readonly size?: number;
}

/** The hashes of a lane whose values are JSON, by the number of a claim or the id of a campaign. */
type Records = 'claims' | 'unknown' | 'early';

/** How many recipients have each state, by their letters. */
function countsOf(letters: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const letter of letters) {
    const state = RECIPIENT_STATES.find((each) => RECIPIENT_STATE[each].letter === letter);
    if (state === undefined) throw new TypeError(`no state has the letter ${letter}`);
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
}

/** See {@link storedLane}. */
export type StoredLane = ReturnType<typeof storedLane>;

/**
 * What Redis stores of a lane, by its meaning. Tests that make a rare state, or look behind the library, do it only through this, so that another
 * stored form changes this file and no test. `id` is that of the lane.
 */
export function storedLane({ redis, keys, id }: Pick<LaneStore, 'redis' | 'keys' | 'id'>) {
  const key = (name: string): string => keys.lane(id, name);
  const record = key('lane');
  const fieldOf = async (name: string): Promise<string> => (await redis.hget(record, name)) ?? '';
  const numberIn = async (name: string): Promise<number> => Number(await fieldOf(name));
  const membersOf = (set: string): Promise<string[]> => redis.zrange(key(set), '0', '-1');
  const timesIn = async (set: string): Promise<Record<string, number>> => {
    const flat = await redis.zrange(key(set), '0', '-1', 'WITHSCORES');
    return Object.fromEntries(
      flat.flatMap((member, at) => (at % 2 === 0 ? [[member, Number(flat[at + 1])]] : [])),
    );
  };
  const processesIn = async (name: string): Promise<Record<string, readonly [since: number, most: number]>> =>
    JSON.parse((await fieldOf(name)) || '{}');
  const stateOf = async (campaign: string): Promise<Record<string, unknown>> =>
    JSON.parse((await redis.hget(key('states'), campaign)) ?? '{}');
  const textOf = (state: object): string => JSON.stringify({ ...STATE_DEFAULTS, released: [], ...state });
  const setState = async (campaign: string, state: object): Promise<void> => {
    await redis.hset(key('states'), campaign, textOf(state));
  };
  const changeState = async (campaign: string, change: object): Promise<void> =>
    setState(campaign, { ...(await stateOf(campaign)), ...change });
  const setLetters = (campaign: string, letters: string, first = 0) =>
    redis.setrange(statusesKey(keys, id, campaign), first, letters);
  const setRecord = (campaign: string, first: number, text: string) =>
    redis.hset(recordsKey(keys, id, campaign, first), String(first), text);
  const editPending = async (change: object): Promise<void> => {
    const pending = await redis.hgetall(key('inboundPending'));
    for (const [name, json] of Object.entries(pending))
      await redis.hset(key('inboundPending'), name, JSON.stringify({ ...JSON.parse(json), ...change }));
  };
  const close = async (cause: Cause, entry: Partial<Closed> = {}): Promise<void> => {
    const closed = { ...parseClosed(await fieldOf('closed')), [cause]: { since: 1, ...entry } };
    await redis.hset(record, 'closed', JSON.stringify(closed));
  };
  /** The claim that probes the service while the lane backs off; 0: none. */
  const probe = async (): Promise<number> => {
    const { throttled, unreachable } = JSON.parse((await fieldOf('closed')) || '{}');
    return (throttled ?? unreachable)?.probe ?? 0;
  };
  return {
    /** The whole record of the lane, to be compared with an earlier one. */
    record: () => redis.hgetall(record),
    /** What closes the lane, and the last requests that its ledger counts. */
    async gate() {
      const { closed, lastSendAt = '0', lastPollAt = '0', ...rest } = await redis.hgetall(record);
      const causes = Object.keys(parseClosed(closed));
      return {
        ...rest,
        causes,
        probe: await probe(),
        lastSendAt: Number(lastSendAt),
        lastPollAt: Number(lastPollAt),
      };
    },
    /** The lane is closed for this cause as well. */
    close,
    /** The lane has backed off after a 429 until then, and is on trial. */
    backOff: async (until: number): Promise<void> => {
      await close('throttled', { until });
      await redis.hset(record, { epoch: 1, onTrial: 1 });
    },
    probe,
    /** The lane waits for a token since then. */
    awaitToken: async (reason: string, since: number): Promise<void> => {
      await close('noToken', { why: reason, until: since, since });
      await redis.hset(record, { time: since, closedAt: since });
    },
    changeRecord: (fields: Readonly<Record<string, string | number>>) => redis.hset(record, fields),
    /** The sends that the ledger counts. */
    sends: () => numberIn('sends'),
    firstPollMs: () => numberIn('firstPoll'),
    /** The longest quota window of the processes that serve the lane. */
    windowMs: () => numberIn('windowMs'),
    /** The number of the latest claim. */
    sequence: () => numberIn('sequence'),
    assign: (sequence: number) => redis.hset(record, 'sequence', sequence),
    virtualTime: () => numberIn('virtualTime'),
    setVirtualTime: (time: number) => redis.hset(record, 'virtualTime', time),
    /** The server is another one, as after a failover. */
    changeServer: (runId = 'another') => redis.hset(record, 'runId', runId),
    /** The clock was compared with that of this server. */
    setClockServer: (runId: string) => redis.hset(record, 'clockRunId', runId),
    clockServer: () => fieldOf('clockRunId'),
    mayLose: (ms: number) => redis.hset(record, 'mayLoseMs', ms),
    /** So many batches of a lost worker are to get placeholder claims. */
    losePlaceholders: (placeholders: number, lostAt: number) =>
      redis.hset(record, { placeholders, lostAt, mayHaveLost: 1, sequence: 1, awaited: '{"lost":[1,1]}' }),
    placeholdersLeft: () => numberIn('placeholders'),
    /** The processes that serve the lane, and since when. */
    workers: () => processesIn('workers'),
    setWorkers: (workers: Readonly<Record<string, readonly [since: number, most: number]>>) =>
      redis.hset(record, 'workers', JSON.stringify(workers)),
    /** The processes whose replay the recovery barrier awaits. */
    awaited: async () => Object.keys(await processesIn('awaited')),

    async state(campaign: string): Promise<ReadState> {
      const json = await redis.hget(key('states'), campaign);
      if (json === null) return JSON.parse('null');
      const parsed = parseState(json);
      const counts = { ...perName(RECIPIENT_STATES, () => 0), ...parsed.counts };
      return { ...stateMembers(json), ...parsed, counts };
    },
    setState,
    setStates: (states: Readonly<Record<string, object>>) =>
      redis.hset(key('states'), ...Object.entries(states).flatMap(([c, one]) => [c, textOf(one)])),
    /** Changes members of a campaign's state, or makes a state of these. */
    changeState,
    /**
     * Makes a campaign what it is once all its requests were answered: a letter per recipient, and what is recorded about its first request.
     * Default: it runs.
     */
    async settle(
      campaign: string,
      letters: string,
      { record: text = '', ...change }: object & { record?: string } = {},
    ): Promise<void> {
      const total = letters.length;
      const places = { state: 'running', launchAt: 1, total, ordinals: total, cursor: total };
      await changeState(campaign, { ...places, counts: countsOf(letters), ...change });
      await setLetters(campaign, letters);
      if (text !== '') await setRecord(campaign, 0, text);
    },
    /** Makes a state that cannot be read. */
    damageState: (campaign: string) => redis.hset(key('states'), campaign, '{'),
    /** Makes a slice of a list that cannot be read. */
    damageSlice: (campaign: string, slice: number) =>
      redis.hset(slicesKey(keys, id, campaign, 'slices'), slice, 'damaged'),
    removeState: (campaign: string) => redis.hdel(key('states'), campaign),
    campaigns: () => redis.hkeys(key('states')),
    /** The status letters of a campaign. */
    letters: async (campaign: string) => (await redis.get(statusesKey(keys, id, campaign))) ?? '',
    /** Sets the letters of recipients, from this ordinal. */
    setLetters,
    removeLetters: (campaign: string) => redis.del(statusesKey(keys, id, campaign)),
    /** Sets what is recorded about the batch that begins at this ordinal. */
    setRecord,
    /** The request of a batch. */
    setRequest: (campaign: string, first: number, count: number, sentAt: number, requestId: string) =>
      setRecord(campaign, first, `${count},${sentAt},0,,${requestId}`),

    /** The campaigns that are served, by their virtual start. */
    running: () => timesIn('running'),
    run: (campaign: string, start = 0) => redis.zadd(key('running'), start, campaign),
    stopAll: () => redis.del(key('running')),
    scheduled: () => timesIn('scheduled'),
    /** A running campaign starts at this time instead. */
    async schedule(campaign: string, at: number): Promise<void> {
      await redis.zrem(key('running'), campaign);
      await redis.zadd(key('scheduled'), at, campaign);
    },
    lapsing: () => timesIn('lapsing'),
    lapse: (campaign: string, at: number) => redis.zadd(key('lapsing'), at, campaign),
    ended: () => timesIn('ended'),
    end: (campaign: string, at: number) => redis.zadd(key('ended'), at, campaign),
    importing: () => timesIn('importing'),
    expireImport: (campaign: string) => redis.zadd(key('importing'), 1, campaign),
    /** When the window of a rule opens and closes, in turn, as it was computed at this time. */
    setOpenings: (rule: string, computedAt: number, times: readonly number[]) =>
      redis.hset(key('windows'), rule, JSON.stringify([computedAt, computedAt, ...times])),
    /** The parts of a campaign by the zones of its recipients: each zone, how many of them there are, and their own time; see zones.lua. */
    setParts: (
      campaign: string,
      parts: readonly (readonly [zone: string, recipients: number, sendAt?: number])[],
    ) => {
      let end = 0;
      const stored = parts.map(([zone, recipients, ...time]) => {
        end += recipients;
        return [zone, end - recipients, end, ...time];
      });
      return redis.set(key(`campaign:${campaign}:zones`), JSON.stringify(stored));
    },
    parts: async (campaign: string): Promise<unknown> =>
      JSON.parse((await redis.get(key(`campaign:${campaign}:zones`))) ?? 'null'),
    removeParts: (campaign: string) => redis.del(key(`campaign:${campaign}:zones`)),
    forgetOpenings: () => redis.del(key('windows')),

    async claims(): Promise<Record<string, StoredClaim>> {
      const claims = Object.entries(await redis.hgetall(key('claims')));
      return Object.fromEntries(claims.map(([number, json]) => [number, JSON.parse(json)]));
    },
    setClaims: (claims: Readonly<Record<string, object>>) =>
      redis.hset(key('claims'), ...Object.entries(claims).flatMap(([n, one]) => [n, JSON.stringify(one)])),
    removeClaim: (number: number) => redis.hdel(key('claims'), String(number)),
    put: (name: Records, field: string, value: object) => redis.hset(key(name), field, JSON.stringify(value)),
    remove: (name: Records, field: string) => redis.hdel(key(name), field),

    /** When each accepted request, `campaign:first`, is polled: for the first time, and again. */
    polls: async () => ({ first: await timesIn('unpolled'), again: await timesIn('polled') }),
    /** The accepted requests that are followed up. */
    followed: async () => [...(await membersOf('unpolled')), ...(await membersOf('polled'))].sort(),
    setFirstPoll: (request: string, at: number) => redis.zadd(key('unpolled'), at, request),
    setNextPoll: (request: string, at: number) => redis.zadd(key('polled'), at, request),
    /** Whether a report of the request finds its batch. */
    isIndexed: async (requestId: string) => (await locateRequests(redis, keys, id, [requestId]))[0] !== null,
    /** The requests whose reports wait, as the two keys of such reports say. */
    waitingReports: async () => ({
      ids: await membersOf('waiting'),
      texts: await redis.hlen(key('early')),
    }),
    /** Batches that were accepted without a request id, and until when they are remembered. */
    unnamed: () => timesIn('unnamed'),
    setUnnamed: (batch: string, until: number) => redis.zadd(key('unnamed'), until, batch),

    /** Messages of people that are not logged yet. */
    async pendingMessages(): Promise<Record<string, Record<string, unknown>>> {
      const pending = Object.entries(await redis.hgetall(key('inboundPending')));
      return Object.fromEntries(pending.map(([name, json]) => [name, JSON.parse(json)]));
    },
    setPending: (messages: Readonly<Record<string, object>>) =>
      redis.hset(
        key('inboundPending'),
        ...Object.entries(messages).flatMap(([name, one]) => [name, JSON.stringify(one)]),
      ),
    editPending,

    /** What API keys have stored on the lane: who has paid for what. */
    keyBytes: () => redis.hgetall(key('keyBytes')),
    /** What an API key stores on the lane, in bytes. */
    bytesOf: async (apiKey: string) => Number(await redis.hget(key('keyBytes'), `used:${apiKey}`)),
    /** What an API key has stored on its latest day (since 1970): messages, and what they cost. */
    async storedToday(apiKey: string) {
      const text = (await redis.hget(key('keyBytes'), `today:${apiKey}`)) ?? '0 0 0';
      const [day = 0, messages = 0, micros = 0] = text.split(' ').map(Number);
      return { day, messages, micros };
    },
    /** Where a campaign is: the names of what holds it. */
    async placesOf(campaign: string): Promise<string[]> {
      const sets = ['running', 'scheduled', 'lapsing', 'ended', 'importing'];
      const times = await Promise.all(sets.map((set) => redis.zscore(key(set), campaign)));
      const isStored = (await redis.hexists(key('states'), campaign)) === 1;
      return [...sets.filter((_, at) => times[at] !== null), ...(isStored ? ['states'] : [])];
    },
  };
}
