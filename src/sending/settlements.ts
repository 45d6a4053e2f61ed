import { z } from 'zod';
import type { DeliveryStatus } from '../campaign/recipient.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { acceptedKey, recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import { digestOf, indexKey } from '../recipients/request-index.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';
import type { PollClaim, SendClaim } from './claims.js';

/** One letter a recipient of the batch: N, T, I as reported; S for one that was suppressed; - for no news. */
export type Letters = string;

/** The letter of each status that the service reports; campaign.lua knows them by their states. */
export const STATUS_LETTER: Readonly<Record<DeliveryStatus, string>> = {
  DeliveredToNetwork: 'N',
  DeliveredToTerminal: 'T',
  DeliveryImpossible: 'I',
};

/** What became of a send request. */
export interface SendSettlement {
  readonly claim: SendClaim;
  readonly as:
    | 'accepted'
    | 'throttled'
    /** Not accepted, and nobody's fault: to be sent again. */
    | 'released'
    /** As `released`, and the lane stops. */
    | 'stopped'
    | 'refused'
    | 'unknown'
    /** Certainly did not leave. */
    | 'notSent'
    /** Was not tried. */
    | 'unsent'
    /** All recipients were suppressed since the import. */
    | 'suppressed'
    /** Was not tried: in doubt, and some recipients are suppressed by now; `letters` say which. */
    | 'divided';
  readonly letters?: Letters;
  readonly requestId?: string;
  readonly reason?: string;
  readonly retryAfterMs?: number;
  /** Its owner never settled it. */
  readonly overdue?: boolean;
  /** By a notification that a poll has confirmed: how the request itself went is not known. */
  readonly told?: boolean;
}

/** What a poll told. */
export interface PollSettlement {
  readonly claim: PollClaim;
  readonly as:
    | 'infos'
    | 'missing'
    | 'throttled'
    | 'released'
    | 'stopped'
    | 'notSent'
    | 'unanswered'
    | 'unsent'
    /** Was not asked about, because it is not there any more, and never will be. */
    | 'gone';
  readonly letters?: Letters;
  /** The request that was asked about; needed where it may end, on lanes with notifications. */
  readonly requestId?: string;
  readonly reason?: string;
  readonly retryAfterMs?: number;
  readonly overdue?: boolean;
}

/** How many entries were settled; the others had been before. */
export interface Settled {
  readonly settled: number;
  readonly events: readonly ScriptEvent[];
}

const NOTHING: Settled = { settled: 0, events: [] };
/** Of a reason that is kept: enough for a sentence and what to do. */
const REASON_CHARACTERS = 240;
const reply = z.tuple([z.number(), z.string()]);
const parse = (raw: unknown): Settled => {
  const [settled, events] = reply.parse(raw);
  return { settled, events: scriptEvents(events) };
};
const settleSendScript = loadScript(import.meta.url, './settle-send.lua', parse);
const settlePollScript = loadScript(import.meta.url, '../follow-up/settle-poll.lua', parse);

const SEND_KEYS = [
  'lane',
  'window',
  'claims',
  'polls',
  'running',
  'states',
  'unpolled',
  'unknown',
  'ended',
  'lapsing',
] as const;
const POLL_KEYS = [
  'lane',
  'window',
  'claims',
  'polls',
  'states',
  'unpolled',
  'polled',
  'ended',
  'lapsing',
] as const;

/**
 * Settles what was claimed, a lane's requests together. A call may be repeated until it is answered. `notify`: as in the
 * rules; only then is kept what finds a request by its id.
 */
export function laneSettlements(redis: Redis, keys: Keys, lane: string, rules: string, notify = false) {
  const named = (names: readonly string[]): string[] => names.map((name) => keys.lane(lane, name));
  const sendKeys = named(SEND_KEYS);
  const pollKeys = named(POLL_KEYS);
  const stand = notify ? [keys.lane(lane, 'callback')] : [];
  const unnamed = notify ? [keys.lane(lane, 'unnamed')] : [];
  const statusKeys = ({ campaign, first }: PollClaim): string[] => [
    statusesKey(keys, lane, campaign),
    recordsKey(keys, lane, campaign, first),
  ];
  const sendEntryKeys = ({ claim, requestId = '' }: SendSettlement): string[] =>
    notify
      ? [
          ...statusKeys(claim),
          indexKey(keys, lane, digestOf(requestId)),
          acceptedKey(keys, lane, claim.campaign),
        ]
      : statusKeys(claim);
  const pollEntryKeys = ({ claim, requestId = '' }: PollSettlement): string[] =>
    notify ? [...statusKeys(claim), indexKey(keys, lane, digestOf(requestId))] : statusKeys(claim);
  const digest = ({ requestId = '' }: SendSettlement | PollSettlement) => {
    if (!notify || requestId === '') return {};
    const { field, hashes } = digestOf(requestId);
    return { d: field, h: hashes };
  };
  const entries = (settlements: readonly (SendSettlement | PollSettlement)[]): string =>
    JSON.stringify(
      settlements.map((settlement) => ({
        n: settlement.claim.number,
        c: settlement.claim.campaign,
        f: settlement.claim.first,
        ...('count' in settlement.claim ? { k: settlement.claim.count } : {}),
        as: settlement.as,
        letters: settlement.letters ?? '-'.repeat('count' in settlement.claim ? settlement.claim.count : 0),
        id: settlement.requestId ?? '',
        reason: (settlement.reason ?? '').slice(0, REASON_CHARACTERS),
        retryAfter: settlement.retryAfterMs ?? 0,
        ...(settlement.overdue === true ? { overdue: true } : {}),
        ...('told' in settlement && settlement.told === true ? { told: true } : {}),
        ...digest(settlement),
      })),
    );
  return {
    /** `jitter` is a random number; `now` is for tests and simulations. */
    send: async (settlements: readonly SendSettlement[], jitter: number, now?: number): Promise<Settled> =>
      settlements.length === 0
        ? NOTHING
        : settleSendScript.run(
            redis,
            [...sendKeys, ...stand, ...unnamed, ...settlements.flatMap(sendEntryKeys)],
            [rules, entries(settlements), jitter, now ?? ''],
          ),
    poll: async (settlements: readonly PollSettlement[], jitter: number, now?: number): Promise<Settled> =>
      settlements.length === 0
        ? NOTHING
        : settlePollScript.run(
            redis,
            [...pollKeys, ...stand, ...settlements.flatMap(pollEntryKeys)],
            [rules, entries(settlements), jitter, now ?? ''],
          ),
  };
}
