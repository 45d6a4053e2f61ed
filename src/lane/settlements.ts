import { z } from 'zod';
import { digestOf } from '../recipients/request-index.js';
import { type ScriptEvent, scriptEvents } from './script-events.js';

/** One letter per recipient of the batch: N, T, or I as reported, S if suppressed, - if unchanged (recipient-states.lua). */
export type Letters = string;

/** The result of a settle script. `settled`: settlements that took effect; the others had been made before. */
export interface SettleResult {
  readonly settled: number;
  readonly events: readonly ScriptEvent[];
}

/** The reply to a call without settlements. */
export const NOTHING_SETTLED: SettleResult = { settled: 0, events: [] };

/** Maximum length of a stored reason. */
const REASON_CHARACTERS = 240;

const reply = z.tuple([z.number(), z.string()]);

/** Parses the reply of a settle script. */
export function settledReply(raw: unknown): SettleResult {
  const [settled, events] = reply.parse(raw);
  return { settled, events: scriptEvents(events) };
}

/** The common fields of send and poll settlements. */
export interface Settlement {
  readonly claim: {
    readonly number: number;
    readonly campaign: string;
    readonly first: number;
    readonly count?: number;
  };
  readonly result: string;
  readonly letters?: Letters | undefined;
  /** The service's id of the request. */
  readonly requestId?: string | undefined;
  readonly reason?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  /** The claim's worker never settled it. */
  readonly overdue?: boolean | undefined;
  readonly byNotification?: boolean | undefined;
}

/** A settlement as the scripts read it. `notify`: the lane has notifications, so the request id is indexed. */
export function settlementEntry(settlement: Settlement, notify: boolean): object {
  const { claim, result, letters, requestId = '', reason = '', retryAfterMs = 0 } = settlement;
  const { field, hashes } =
    notify && requestId !== '' ? digestOf(requestId) : { field: undefined, hashes: undefined };
  return {
    number: claim.number,
    campaign: claim.campaign,
    first: claim.first,
    count: claim.count,
    result,
    letters: letters ?? '-'.repeat(claim.count ?? 0),
    requestId,
    reason: reason.slice(0, REASON_CHARACTERS),
    retryAfterMs,
    overdue: settlement.overdue === true ? true : undefined,
    byNotification: settlement.byNotification === true ? true : undefined,
    digest: field,
    hashes,
  };
}
