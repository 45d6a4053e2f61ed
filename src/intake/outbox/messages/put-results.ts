import { ERROR_CODES, type ErrorCode, type ErrorItem } from '../../../campaign/errors/error-codes.js';
import { pointerStep, sentenceOfReason } from '../../../campaign/errors/error-item.js';
import { asSentence } from '../../../campaign/errors/errors.js';
import type { BulkResult, LateCode, PutResult } from '../../../campaign/views/outbox-views.js';
import { MessageLateError } from '../definition/errors.js';
import type { PutReply } from './store.js';

/** What a put did, or why it came too late. */
export type PutDone =
  | (Omit<PutResult, 'warnings'> & { readonly code: null })
  | (Pick<BulkResult, 'id' | 'sendAt'> & { readonly outcome: 'refused'; readonly code: LateCode });

/** A put that came too late. `sendAt`: when the stored message is sent. */
const refused = (id: string, code: LateCode, sendAt: string | null = null): PutDone => ({
  id,
  outcome: 'refused',
  code,
  sendAt,
});

/** What the store says about a put. */
export function done(
  id: string,
  outcome: Exclude<PutReply['outcome'], 'recovering' | 'full' | 'limited'>,
  sendAt: string | null,
): PutDone {
  switch (outcome) {
    case 'created':
    case 'updated':
    case 'unchanged':
      return { id, outcome, code: null, sendAt };
    case 'stale':
      return refused(id, outcome, sendAt);
    case 'sent':
      return refused(id, outcome);
    case 'cancelled':
    case 'lapsed':
      return refused(id, 'ended');
    default:
      return outcome satisfies never;
  }
}

/** The result of a put of one message. Throws a MessageLateError if it came too late. */
export function resultOfOne(put: PutDone, warnings: readonly string[]): PutResult {
  const { id, code, outcome, sendAt } = put;
  if (outcome !== 'refused') return { id, outcome, sendAt, warnings };
  const why: Readonly<Record<LateCode, string>> = {
    stale: `message ${id} has a higher version`,
    sent: `message ${id} cannot be changed any more; a second message needs another id`,
    ended: `message ${id} was cancelled, or has lapsed: use another id, or a higher version`,
  };
  throw new MessageLateError(code, why[code]);
}

/** What is wrong with a message of a list. */
export function messageError(
  {
    member,
    code,
    reason,
  }: { readonly member: string | null; readonly code: ErrorCode; readonly reason: string },
  line: number,
): ErrorItem {
  const pointer = member === null ? '' : `/${pointerStep(member)}`;
  return { code, pointer, message: sentenceOfReason(reason), line, column: member };
}

/** That a message of a list comes too late. */
export const lateError = (code: LateCode, line: number): ErrorItem => ({
  code,
  pointer: null,
  message: asSentence(ERROR_CODES[code][2]),
  line,
  column: null,
});

/** The result for a message of a list that is invalid. */
export function invalid(id: string, errors: readonly ErrorItem[], line: number): BulkResult {
  const isLate = errors.every(({ code }) => code === 'opensTooLate');
  const code = isLate ? 'opensTooLate' : 'badInput';
  return { id, outcome: 'refused', code, sendAt: null, line, errors, warnings: [] };
}
