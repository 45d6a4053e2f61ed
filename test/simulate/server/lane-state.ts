import { z } from 'zod';
import { parseClosed } from '../../../src/engine/lane/closed.js';
import {
  outboxId,
  parseMessage,
  type StoredMessage,
} from '../../../src/engine/recipients/outbox-messages.js';
import { stateMembers } from '../../../src/engine/store/campaigns.js';

/** The name of the outbox, in worlds that have one. */
export const OUTBOX = 'box';
/** The id under which it has a state. */
export const OUTBOX_ID = outboxId(OUTBOX);
/** Its id at the service. */
export const AT_SERVICE = 'theoutbox0001';

/**
 * Lua that reads everything the invariants check about a lane, as one JSON text. It runs in the same script as the command
 * that may have changed the lane. `lane` is the prefix of the lane's keys; `call` is the server's own `redis.call`.
 */
export const OBSERVE = `local function virtual_observe(call, lane)
  local states, fields = call('HGETALL', lane .. 'states'), call('HMGET', lane .. 'lane', 'epoch', 'closed', 'time', 'openedEpoch', 'onTrial', 'sendFailures')
  local statuses = {}
  for i = 1, #states, 2 do statuses[#statuses + 1] = call('GET', lane .. 'campaign:' .. states[i] .. ':statuses') or '' end
  for i = 1, 6 do fields[i] = fields[i] or '' end
  local outbox = call('HGETALL', lane .. 'outbox:${OUTBOX}')
  local messages = #outbox > 0 and call('HGETALL', lane .. 'outbox:${OUTBOX}:messages') or {}
  local due = #outbox > 0 and call('ZRANGE', lane .. 'outbox:${OUTBOX}:due', 0, -1, 'WITHSCORES') or {}
  return cjson.encode({
    fields, states, statuses, call('HGETALL', lane .. 'claims'), call('HGETALL', lane .. 'polls'), call('HGETALL', lane .. 'unknown'),
    call('ZRANGE', lane .. 'unpolled', 0, -1, 'WITHSCORES'), call('ZRANGE', lane .. 'polled', 0, -1, 'WITHSCORES'),
    call('ZRANGE', lane .. 'running', 0, -1), call('ZCARD', lane .. 'scheduled'), call('ZCARD', lane .. 'lapsing'),
    outbox, messages, due,
  })
end
`;

const stateShape = z.object({
  state: z.string(),
  total: z.number(),
  cursor: z.number(),
  ordinals: z.number(),
  remainder: z.string(),
  counts: z.record(z.string(), z.number()),
  endedAt: z.number(),
  weight: z.number(),
  /** The earliest time of its first request, ms since the epoch. */
  notBefore: z.number().default(0),
  contradictions: z.number(),
  /** While its window is closed: when it opens, ms since the epoch. */
  opensAt: z.number().optional(),
  /** Of an outbox: its name. */
  outbox: z.string().optional(),
});
const claimShape = z.object({
  campaign: z.string(),
  first: z.number(),
  count: z.number().default(1),
  at: z.number(),
  /** 0 for a placeholder claim. */
  timeout: z.number().default(0),
  margin: z.number().default(0),
  turn: z.string().optional(),
  epoch: z.number().optional(),
  placeholder: z.unknown().optional(),
  safeAt: z.number().optional(),
  since: z.number().optional(),
  /** Set if an earlier request may have been accepted. */
  again: z.string().optional(),
  /** Of a message: its id. */
  message: z.string().optional(),
});
/** cjson encodes an empty list as an empty object. */
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
  texts,
  z.number(),
  z.number(),
  texts,
  texts,
  texts,
]);

export type CampaignState = z.output<typeof stateShape>;
export type ClaimState = z.output<typeof claimShape>;
export interface ObservedCampaign {
  readonly state: CampaignState;
  /** One status letter per ordinal, up to the last ordinal that has a status; none of an outbox. */
  readonly statuses: string;
}

/** A message of the outbox. */
export type ObservedMessage = StoredMessage & { readonly id: string };

/** The outbox of a lane. */
export interface ObservedOutbox {
  readonly fields: ReadonlyMap<string, string>;
  /** By their ids. */
  readonly messages: ReadonlyMap<string, ObservedMessage>;
  /** By their numbers, without those that were cancelled before they were put. */
  readonly numbered: ReadonlyMap<number, ObservedMessage>;
  /** When each message may be claimed, ms since the epoch; or, as a negative number, since when it is as it is. */
  readonly due: ReadonlyMap<string, number>;
  /** Its state, which a campaign has as well. */
  readonly state: CampaignState;
}

/** The state of a lane in Redis. */
export interface LaneState {
  readonly epoch: number;
  readonly backingOff: boolean;
  readonly backoffUntil: number;
  readonly stopped: string;
  readonly held: string;
  /** The latest Redis time that the lane has recorded, ms since the epoch. */
  readonly time: number;
  /** The epoch that began when an operator last resumed the lane. */
  readonly opened: number;
  /** Whether the lane was stopped and no response has yet proved that it works again. */
  readonly unproven: boolean;
  /** The sends that have failed since the last one that was answered. */
  readonly sendFailures: number;
  readonly campaigns: ReadonlyMap<string, ObservedCampaign>;
  /** Claims by number. */
  readonly claims: ReadonlyMap<string, ClaimState>;
  readonly polls: ReadonlyMap<string, ClaimState>;
  readonly unknown: ReadonlyMap<string, ClaimState>;
  /** `campaign:ordinal` -> the time at which it is due, ms since the epoch. */
  readonly unpolled: ReadonlyMap<string, number>;
  readonly polled: ReadonlyMap<string, number>;
  /** The campaigns that claims look at. */
  readonly running: readonly string[];
  readonly scheduled: number;
  readonly lapsing: number;
  /** Undefined if the lane has no outbox. */
  readonly outbox: ObservedOutbox | undefined;
}

/** Parses the states of one lane. Unchanged texts give the same objects, so that callers can compare by identity. */
export function laneStateReader() {
  const states = new Map<string, { text: string; state: CampaignState }>();
  const claims = new Map<string, { text: string; claim: ClaimState }>();
  const claimsOf = (pairs: readonly string[]): Map<string, ClaimState> => {
    const found = new Map<string, ClaimState>();
    for (const at of sortedPairs(pairs)) {
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
  const parsed = new Map<string, { text: string; message: ObservedMessage }>();
  const messagesOf = (pairs: readonly string[]): Map<string, ObservedMessage> => {
    const found = new Map<string, ObservedMessage>();
    for (const at of sortedPairs(pairs)) {
      const [id = '', text = ''] = [pairs[at], pairs[at + 1]];
      let known = parsed.get(id);
      if (known?.text !== text) {
        known = { text, message: { ...parseMessage(text), id } };
        parsed.set(id, known);
      }
      found.set(id, known.message);
    }
    return found;
  };
  const outboxOf = (
    state: CampaignState | undefined,
    fields: readonly string[],
    stored: readonly string[],
    due: readonly string[],
  ): ObservedOutbox | undefined => {
    if (state === undefined || fields.length === 0) return undefined;
    const messages = messagesOf(stored);
    const numbered = [...messages.values()].filter(({ number }) => number > 0);
    return {
      state,
      fields: textsOf(fields),
      messages,
      numbered: new Map(numbered.map((message) => [message.number, message])),
      // A list of results has a time as well.
      due: new Map([...scoresOf(due)].filter(([id]) => messages.has(id))),
    };
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
      outbox,
      messages,
      due,
    ] = shape.parse(JSON.parse(text));
    const [epoch, closedText, time, opened, unproven, sendFailures] = lane;
    const closed = parseClosed(closedText);
    const backoff = closed.throttled ?? closed.unreachable;
    const campaigns = new Map<string, ObservedCampaign>();
    for (const at of sortedPairs(stateTexts)) {
      const [id = '', text = ''] = [stateTexts[at], stateTexts[at + 1]];
      let known = states.get(id);
      if (known?.text !== text) {
        known = { text, state: stateShape.parse(stateMembers(text)) };
        states.set(id, known);
      }
      campaigns.set(id, { state: known.state, statuses: statuses[at / 2] ?? '' });
    }
    return {
      epoch: Number(epoch),
      backingOff: backoff !== undefined,
      backoffUntil: backoff?.until ?? 0,
      stopped: closed.stopped?.why ?? '',
      held: closed.held?.why ?? '',
      time: Number(time),
      opened: Number(opened),
      unproven: unproven === '1',
      sendFailures: Number(sendFailures),
      campaigns,
      claims: claimsOf(claimed),
      polls: claimsOf(polls),
      unknown: claimsOf(unknown),
      unpolled: scoresOf(unpolled),
      polled: scoresOf(polled),
      running,
      scheduled,
      lapsing,
      outbox: outboxOf(campaigns.get(OUTBOX_ID)?.state, outbox, messages, due),
    };
  };
  let last: { text: string; observed: LaneState } | undefined;
  return (text: string): LaneState => {
    if (last?.text !== text) last = { text, observed: read(text) };
    return last.observed;
  };
}

/** The indexes at which the pairs of a hash begin, sorted by field, because the server's order is arbitrary. */
function sortedPairs(pairs: readonly string[]): number[] {
  const indexes = Array.from({ length: pairs.length / 2 }, (_, at) => 2 * at);
  return indexes.length < 2
    ? indexes
    : indexes.sort((one, other) => ((pairs[one] ?? '') < (pairs[other] ?? '') ? -1 : 1));
}

function textsOf(pairs: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (let at = 0; at < pairs.length; at += 2) found.set(pairs[at] ?? '', pairs[at + 1] ?? '');
  return found;
}

function scoresOf(pairs: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (let at = 0; at < pairs.length; at += 2) found.set(pairs[at] ?? '', Number(pairs[at + 1]));
  return found;
}
