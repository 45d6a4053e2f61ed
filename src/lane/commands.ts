import { z } from 'zod';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';
import { type ScriptEvent, scriptEvents } from './script-events.js';

/** What became of a command: done, or the state of the campaign that forbids it, or no such campaign. */
export interface Commanded {
  readonly outcome: 'done' | 'missing' | 'importing' | 'completed' | 'cancelled';
  readonly inFlight: number;
  readonly cancelled: number;
  readonly events: readonly ScriptEvent[];
  /** Whether it is in another state now than before: an order that is repeated changes nothing. */
  readonly isNew: boolean;
}

/** What became of batches of unknown outcome. `safeAt`: when those it was too early for may be sent again, ms. */
export interface Resolved {
  readonly batches: number;
  readonly recipients: number;
  readonly tooEarly: number;
  readonly safeAt: number;
  readonly events: readonly ScriptEvent[];
}

/** A batch of whose outcome nobody knows; `number` is its claim's. Times in ms. */
export interface UnknownBatch {
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  readonly claimedAt: number;
  readonly since: number;
  readonly reason: string;
  /** The request that it may be, which is being asked about; null for none. */
  readonly suspect: string | null;
  /** Redis had forgotten its claim, or it was claimed for nobody: when its request was sent is not known. */
  readonly isRestored: boolean;
}

/** A script may not hold the server up, nor unpack more than some thousands. */
const RESOLVED_AT_ONCE = 500;

const outcomes = z.enum(['done', 'missing', 'importing', 'completed', 'cancelled']);
const commandCampaign = loadScript(import.meta.url, './command-campaign.lua', (reply): Commanded => {
  const [outcome, inFlight, cancelled, events, isNew] = z
    .tuple([outcomes, z.number(), z.number(), z.string(), z.number()])
    .parse(reply);
  return { outcome, inFlight, cancelled, events: scriptEvents(events), isNew: isNew === 1 };
});
const commandLane = loadScript(import.meta.url, './command-lane.lua', (reply) => reply === 1);
const resolveUnknown = loadScript(import.meta.url, '../sending/resolve-unknown.lua', (reply): Resolved => {
  const [batches, recipients, tooEarly, safeAt, events] = z
    .tuple([z.number(), z.number(), z.number(), z.string(), z.string()])
    .parse(reply);
  return { batches, recipients, tooEarly, safeAt: Number(safeAt), events: scriptEvents(events) };
});

const unknownBatch = z.object({
  c: z.string(),
  f: z.number(),
  k: z.number(),
  at: z.number(),
  since: z.number(),
  why: z.string(),
  e: z.number().optional(),
  s: z.string().optional(),
});
/** The epoch of claims that Redis had forgotten and that were put back; theirs is not the time at which they were made. */
export const OF_NO_EPOCH = -1;

/** The words that may be said on a lane and its campaigns, by people and by policy. `rules` is the JSON of its ScriptRules. */
export function laneCommands(redis: Redis, keys: Keys, lane: string, rules: string) {
  const named = (...names: string[]): string[] => names.map((name) => keys.lane(lane, name));
  return {
    /** `reason`: why it is paused, for people. */
    campaign: (
      command: 'pause' | 'resume' | 'cancel',
      id: string,
      reason = 'paused by the operator',
      now?: number,
    ): Promise<Commanded> =>
      commandCampaign.run(
        redis,
        named('lane', 'claims', 'running', 'scheduled', 'states', 'ended', 'lapsing'),
        [rules, command, id, reason, now ?? ''],
      ),
    /** False when the lane was held, or open, already. */
    lane: (command: 'hold' | 'resume', reason = ''): Promise<boolean> =>
      commandLane.run(redis, named('lane'), [command, reason, 0, '']),
    /**
     * Stops the lane for something that no waiting mends. `epoch`: the lane's before that was looked at. False when an
     * operator has opened the lane since then, or it is stopped for that reason already: what was seen is no news.
     */
    stop: (reason: string, epoch: number): Promise<boolean> =>
      commandLane.run(redis, named('lane'), ['stop', reason, epoch, '']),
    async unknown(): Promise<UnknownBatch[]> {
      const all = await redis.hgetall(keys.lane(lane, 'unknown'));
      return Object.entries(all).map(([number, json]) => {
        const { c, f, k, at, since, why, e, s } = unknownBatch.parse(JSON.parse(json));
        return {
          number: Number(number),
          campaign: c,
          first: f,
          count: k,
          claimedAt: at,
          since,
          reason: why,
          suspect: s ?? null,
          isRestored: e === OF_NO_EPOCH,
        };
      });
    },
    async resolve(
      as: 'resend' | 'abandon' | 'accepted',
      reason: string,
      batches: readonly { number: number; campaign: string; first: number }[],
      now?: number,
    ): Promise<Resolved> {
      const all = { batches: 0, recipients: 0, tooEarly: 0, safeAt: 0, events: [] as ScriptEvent[] };
      for (let from = 0; from < batches.length; from += RESOLVED_AT_ONCE) {
        const some = batches.slice(from, from + RESOLVED_AT_ONCE);
        const part = await resolveUnknown.run(
          redis,
          [
            ...named('lane', 'running', 'states', 'unknown', 'ended', 'lapsing', 'unnamed', 'unpolled'),
            ...some.flatMap(({ campaign, first }) => [
              statusesKey(keys, lane, campaign),
              recordsKey(keys, lane, campaign, first),
            ]),
          ],
          [as, reason, JSON.stringify(some.map(({ number }) => String(number))), rules, now ?? ''],
        );
        all.batches += part.batches;
        all.recipients += part.recipients;
        all.tooEarly += part.tooEarly;
        all.safeAt = Math.max(all.safeAt, part.safeAt);
        all.events.push(...part.events);
      }
      return all;
    },
  };
}
