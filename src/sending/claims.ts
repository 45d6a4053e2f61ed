import { z } from 'zod';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';

/** A batch that may go on the wire: recipients `first` to `first + count - 1` of a campaign, with a permit. */
export interface SendClaim {
  /** Ever growing; names the claim. */
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  /** Set where an earlier request may have been accepted, as campaign.lua has it. */
  readonly doubt?: number;
}

/** A request that may be asked about, with a permit. */
export interface PollClaim {
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
}

/**
 * Why a claim gave no more than it did.
 * - `more`: it gave what was wanted. `nothing`: nothing is left, or due. `inFlight`: enough is in flight.
 * - `quota`: the window is used up. `joining`: the process, or a campaign, is too new to be sure that it would not be
 *   forgotten, see crew.lua. The others: the lane is closed, see gate.lua.
 * - `fenced`: another turn serves the lane now. `again`: this call was made before; the claims are what is left of it.
 */
const WHY = [
  'more',
  'nothing',
  'inFlight',
  'quota',
  'stopped',
  'held',
  'recovering',
  'joining',
  'throttled',
  'unreachable',
  'probing',
  'hanging',
  'fenced',
  'again',
] as const;
/** Why a claim gave no more; `waiting`: there is no token yet, or the process does not know the lane. */
export type Why = (typeof WHY)[number] | 'waiting';

/** What a claim gave, and in how many ms there may be more; null: when the lane is woken. */
export interface ClaimReply<Claim> {
  readonly claims: readonly Claim[];
  readonly why: Why;
  readonly againInMs: number | null;
  /** Server's time. */
  readonly now: number;
  readonly events: readonly ScriptEvent[];
}

/** A call of a turn: repeated as it is when its answer was lost. */
export interface ClaimCall {
  readonly turn: string;
  /** From 1. */
  readonly call: number;
  readonly want: number;
  /** The highest claim number that this process knows of the lane, or 0. */
  readonly seen: number;
  /** Who claims, as its crew knows it; left out where nobody in particular does. */
  readonly process?: string | undefined;
  /** Milliseconds of answered writes that the server may lose; default 0. */
  readonly loss?: number | undefined;
  /** Time in ms, for tests and simulations; the server's when left out. */
  readonly now?: number | undefined;
}

const claimShape = z.object({
  n: z.number(),
  c: z.string(),
  f: z.number(),
  k: z.number().default(1),
  u: z.number().optional(),
});
const whyShape = z.enum(WHY);
const head = z.tuple([z.string(), z.string(), z.string(), z.string()]).rest(z.string());

function parseReply<Claim>(pick: (claim: z.output<typeof claimShape>) => Claim) {
  return (reply: unknown): ClaimReply<Claim> => {
    const [why, at, now, events, ...claims] = head.parse(reply);
    return {
      claims: claims.map((claim) => pick(claimShape.parse(JSON.parse(claim)))),
      why: whyShape.parse(why),
      againInMs: Number(at) > 0 ? Math.max(0, Number(at) - Number(now)) : null,
      now: Number(now),
      events: scriptEvents(events),
    };
  };
}

const claimSendScript = loadScript(
  import.meta.url,
  './claim-send.lua',
  parseReply(
    ({ n, c, f, k, u }): SendClaim => ({
      number: n,
      campaign: c,
      first: f,
      count: k,
      ...(u === undefined ? {} : { doubt: u }),
    }),
  ),
);
const claimPollScript = loadScript(
  import.meta.url,
  '../follow-up/claim-poll.lua',
  parseReply(({ n, c, f }): PollClaim => ({ number: n, campaign: c, first: f })),
);
const confirmScript = loadScript(import.meta.url, '../lane/confirm-claim.lua', (reply) => reply === 1);

const SEND_KEYS = [
  'lane',
  'window',
  'claims',
  'polls',
  'running',
  'scheduled',
  'states',
  'unpolled',
  'polled',
  'ended',
  'lapsing',
] as const;
const POLL_KEYS = ['lane', 'window', 'claims', 'polls', 'running', 'unpolled', 'polled'] as const;

/** The claims of one lane. `rules` is the JSON of its ScriptRules. Each call is safe to repeat. */
export function laneClaims(redis: Redis, keys: Keys, lane: string, rules: string) {
  const named = (names: readonly string[]): string[] => names.map((name) => keys.lane(lane, name));
  const sendKeys = named(SEND_KEYS);
  const pollKeys = named(POLL_KEYS);
  const args = ({ turn, call, want, seen }: ClaimCall) => [rules, turn, call, want, seen];
  return {
    /** Takes the next batches that may go on the wire. */
    send: (call: ClaimCall): Promise<ClaimReply<SendClaim>> =>
      claimSendScript.run(redis, sendKeys, [
        ...args(call),
        call.process ?? '',
        call.loss ?? 0,
        call.now ?? '',
      ]),
    /** Takes the requests that are due to be asked about. */
    poll: (call: ClaimCall): Promise<ClaimReply<PollClaim>> =>
      claimPollScript.run(redis, pollKeys, [...args(call), call.process ?? '', call.now ?? '']),
    /** Whether a send's claim still stands, for one that has grown old before it was sent. */
    confirm: (claim: SendClaim, turn: string): Promise<boolean> =>
      confirmScript.run(redis, named(['claims', 'states']), [claim.number, turn, 'send']),
    /** The same of a poll's, for its permit. */
    confirmPoll: (claim: PollClaim, turn: string): Promise<boolean> =>
      confirmScript.run(redis, named(['polls', 'states']), [claim.number, turn, 'poll']),
  };
}
