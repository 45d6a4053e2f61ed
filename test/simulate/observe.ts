import { z } from 'zod';

/** Everything of a lane that invariants look at, read in one script right after a command has run. */
export const OBSERVE = `local states = redis.call('HGETALL', KEYS[2])
local statuses = {}
for i = 1, #states, 2 do statuses[#statuses + 1] = redis.call('GET', ARGV[1] .. states[i] .. ':statuses') or '' end
return {
  redis.call('HMGET', KEYS[1], 'epoch', 'paused', 'pausedUntil', 'stopped', 'held', 'graceUntil', 'time'),
  states, statuses, redis.call('HGETALL', KEYS[3]), redis.call('HGETALL', KEYS[4]), redis.call('HGETALL', KEYS[5]),
  redis.call('ZRANGE', KEYS[6], 0, -1, 'WITHSCORES'), redis.call('ZRANGE', KEYS[7], 0, -1, 'WITHSCORES'),
  redis.call('ZCARD', KEYS[8]), redis.call('ZCARD', KEYS[9]), redis.call('ZCARD', KEYS[10]),
}`;
export const OBSERVED_KEYS = [
  'lane',
  'states',
  'claims',
  'polls',
  'unknown',
  'unpolled',
  'polled',
  'running',
  'scheduled',
  'lapsing',
] as const;

const stateShape = z.object({
  s: z.string(),
  total: z.number(),
  cursor: z.number(),
  end: z.number(),
  rest: z.string(),
  n: z.record(z.string(), z.number()),
  ended: z.number(),
  weight: z.number(),
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
});
const texts = z.array(z.string());
const shape = z.tuple([
  z.array(z.string().nullable()),
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

export type ObservedState = z.output<typeof stateShape>;
export type ObservedClaim = z.output<typeof claimShape>;
export interface ObservedCampaign {
  readonly state: ObservedState;
  /** A letter an ordinal, as far as anything is known. */
  readonly statuses: string;
}

/** A lane as it stands in Redis. */
export interface Observed {
  readonly epoch: number;
  readonly paused: string;
  readonly pausedUntil: number;
  readonly stopped: string;
  readonly held: string;
  readonly graceUntil: number;
  /** The server's time as the lane has seen it last, ms. */
  readonly time: number;
  readonly campaigns: ReadonlyMap<string, ObservedCampaign>;
  /** By their numbers, as texts. */
  readonly claims: ReadonlyMap<string, ObservedClaim>;
  readonly polls: ReadonlyMap<string, ObservedClaim>;
  readonly unknown: ReadonlyMap<string, ObservedClaim>;
  /** `campaign:ordinal` -> when it is due, ms. */
  readonly unpolled: ReadonlyMap<string, number>;
  readonly polled: ReadonlyMap<string, number>;
  readonly running: number;
  readonly scheduled: number;
  readonly lapsing: number;
}

/** Reads observations of one lane; what has not changed since the last is not read again. */
export function observer() {
  const states = new Map<string, { text: string; state: ObservedState }>();
  const claims = new Map<string, { text: string; claim: ObservedClaim }>();
  const claimsOf = (pairs: readonly string[]): Map<string, ObservedClaim> => {
    const found = new Map<string, ObservedClaim>();
    for (let at = 0; at < pairs.length; at += 2) {
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
  return (reply: unknown): Observed => {
    const [lane, stateTexts, statuses, claimed, polls, unknown, unpolled, polled, running, scheduled, lapsing] =
      shape.parse(reply);
    const [epoch, paused, pausedUntil, stopped, held, graceUntil, time] = lane;
    const campaigns = new Map<string, ObservedCampaign>();
    for (let at = 0; at < stateTexts.length; at += 2) {
      const [id = '', text = ''] = [stateTexts[at], stateTexts[at + 1]];
      let known = states.get(id);
      if (known?.text !== text) {
        known = { text, state: stateShape.parse(JSON.parse(text)) };
        states.set(id, known);
      }
      campaigns.set(id, { state: known.state, statuses: statuses[at / 2] ?? '' });
    }
    return {
      epoch: Number(epoch ?? 0),
      paused: paused ?? '',
      pausedUntil: Number(pausedUntil ?? 0),
      stopped: stopped ?? '',
      held: held ?? '',
      graceUntil: Number(graceUntil ?? 0),
      time: Number(time ?? 0),
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
}

function scoresOf(pairs: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (let at = 0; at < pairs.length; at += 2) found.set(pairs[at] ?? '', Number(pairs[at + 1]));
  return found;
}
