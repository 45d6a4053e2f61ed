import { z } from 'zod';

/**
 * Everything of a lane that invariants look at, as one text; Lua, run in the same script as the command that may have
 * changed it. `lane` begins the lane's keys, `call` is the server's own.
 */
export const OBSERVE = `local function virtual_observe(call, lane)
  local states, fields = call('HGETALL', lane .. 'states'), call('HMGET', lane .. 'lane', 'epoch', 'paused', 'pausedUntil', 'stopped', 'held', 'time', 'opened', 'unproven')
  local statuses = {}
  for i = 1, #states, 2 do statuses[#statuses + 1] = call('GET', lane .. 'campaign:' .. states[i] .. ':statuses') or '' end
  for i = 1, 8 do fields[i] = fields[i] or '' end
  return cjson.encode({
    fields, states, statuses, call('HGETALL', lane .. 'claims'), call('HGETALL', lane .. 'polls'), call('HGETALL', lane .. 'unknown'),
    call('ZRANGE', lane .. 'unpolled', 0, -1, 'WITHSCORES'), call('ZRANGE', lane .. 'polled', 0, -1, 'WITHSCORES'),
    call('ZCARD', lane .. 'running'), call('ZCARD', lane .. 'scheduled'), call('ZCARD', lane .. 'lapsing'),
  })
end
`;

const stateShape = z.object({
  s: z.string(),
  total: z.number(),
  cursor: z.number(),
  end: z.number(),
  rest: z.string(),
  n: z.record(z.string(), z.number()),
  ended: z.number(),
  weight: z.number(),
  /** When its first text may leave, ms. */
  opens: z.number().default(0),
  contradictions: z.number(),
});
const claimShape = z.object({
  c: z.string(),
  f: z.number(),
  k: z.number().default(1),
  at: z.number(),
  t: z.string().optional(),
  e: z.number().optional(),
  g: z.unknown().optional(),
  safe: z.number().optional(),
  since: z.number().optional(),
});
/** Lua writes an empty list as an empty object. */
const texts = z.union([z.array(z.string()), z.object({}).transform((): string[] => [])]);
const shape = z.tuple([
  texts,
  texts,
  texts,
  texts,
  texts,
  texts,
  texts,
  texts,
  z.number(),
  z.number(),
  z.number(),
]);

export type CampaignState = z.output<typeof stateShape>;
export type ClaimState = z.output<typeof claimShape>;
export interface ObservedCampaign {
  readonly state: CampaignState;
  /** A letter an ordinal, as far as anything is known. */
  readonly statuses: string;
}

/** A lane as it stands in Redis. */
export interface LaneState {
  readonly epoch: number;
  readonly paused: string;
  readonly pausedUntil: number;
  readonly stopped: string;
  readonly held: string;
  /** The server's time as the lane has seen it last, ms. */
  readonly time: number;
  /** The epoch that an operator began who opened the lane. */
  readonly opened: number;
  /** Whether the lane had been stopped and is tried. */
  readonly unproven: boolean;
  readonly campaigns: ReadonlyMap<string, ObservedCampaign>;
  /** By their numbers, as texts. */
  readonly claims: ReadonlyMap<string, ClaimState>;
  readonly polls: ReadonlyMap<string, ClaimState>;
  readonly unknown: ReadonlyMap<string, ClaimState>;
  /** `campaign:ordinal` -> when it is due, ms. */
  readonly unpolled: ReadonlyMap<string, number>;
  readonly polled: ReadonlyMap<string, number>;
  readonly running: number;
  readonly scheduled: number;
  readonly lapsing: number;
}

/** Reads observations of one lane; where nothing has changed since the last, it gives the same one. */
export function laneStateReader() {
  const states = new Map<string, { text: string; state: CampaignState }>();
  const claims = new Map<string, { text: string; claim: ClaimState }>();
  const claimsOf = (pairs: readonly string[]): Map<string, ClaimState> => {
    const found = new Map<string, ClaimState>();
    for (const at of inOrder(pairs)) {
      const [number = '', text = ''] = [pairs[at], pairs[at + 1]];
      let known = claims.get(number);
      if (known?.text !== text) {
        known = { text, claim: claimShape.parse(JSON.parse(text)) };
        claims.set(number, known);
      }
      found.set(number, known.claim);
    }
    return found;
  };
  const read = (text: string): LaneState => {
    const [
      lane,
      stateTexts,
      statuses,
      claimed,
      polls,
      unknown,
      unpolled,
      polled,
      running,
      scheduled,
      lapsing,
    ] = shape.parse(JSON.parse(text));
    const [epoch, paused, pausedUntil, stopped, held, time, opened, unproven] = lane;
    const campaigns = new Map<string, ObservedCampaign>();
    for (const at of inOrder(stateTexts)) {
      const [id = '', text = ''] = [stateTexts[at], stateTexts[at + 1]];
      let known = states.get(id);
      if (known?.text !== text) {
        known = { text, state: stateShape.parse(JSON.parse(text)) };
        states.set(id, known);
      }
      campaigns.set(id, { state: known.state, statuses: statuses[at / 2] ?? '' });
    }
    return {
      epoch: Number(epoch),
      paused: paused ?? '',
      pausedUntil: Number(pausedUntil),
      stopped: stopped ?? '',
      held: held ?? '',
      time: Number(time),
      opened: Number(opened),
      unproven: unproven === '1',
      campaigns,
      claims: claimsOf(claimed),
      polls: claimsOf(polls),
      unknown: claimsOf(unknown),
      unpolled: scoresOf(unpolled),
      polled: scoresOf(polled),
      running,
      scheduled,
      lapsing,
    };
  };
  let last: { text: string; observed: LaneState } | undefined;
  return (text: string): LaneState => {
    if (last?.text !== text) last = { text, observed: read(text) };
    return last.observed;
  };
}

/** Where the pairs of a hash begin, by their fields: the server has an order of its own. */
function inOrder(pairs: readonly string[]): number[] {
  const places = Array.from({ length: pairs.length / 2 }, (_, at) => 2 * at);
  return places.length < 2
    ? places
    : places.sort((one, other) => ((pairs[one] ?? '') < (pairs[other] ?? '') ? -1 : 1));
}

function scoresOf(pairs: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (let at = 0; at < pairs.length; at += 2) found.set(pairs[at] ?? '', Number(pairs[at + 1]));
  return found;
}
