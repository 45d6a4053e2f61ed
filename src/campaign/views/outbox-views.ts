import { z } from 'zod';
import type { ErrorCode, ErrorItem } from '../errors/error-codes.js';
import { errorCode, errorItem } from '../errors/error-item.js';
import { type ReturnedFields, returnedOutboxFields, schemaOf } from '../fields/field-schemas.js';
import { FIELDS } from '../fields/fields.js';
import { perName, RECIPIENT_STATES } from '../states/recipient.js';
import { count, PUT_OUTCOMES, putOutcome, textOrNull, time } from './measures.js';
import { type SendWindow, sendWindow } from './views.js';

/*
 * The public form of outboxes: the types of the library, `--json` on the command line, and the HTTP API.
 */

const { planned: _planned, ...states } = perName(RECIPIENT_STATES, () => count);

/** The status of an outbox. */
export interface OutboxStatus extends Pick<ReturnedFields, 'tags'> {
  readonly name: string;
  readonly lane: string;
  /** `paused`: it sends nothing until you resume it; `closed`: it accepts no new messages, and sends those that it has. */
  readonly state: 'open' | 'paused' | 'closed';
  /** Why nothing is sent: the service has refused every request, or the lane is not configured; else null. */
  readonly reason: string | null;
  readonly message: string;
  readonly sender: string;
  /** When a message without a time of its own is sent, such as `appointment - 24h`. */
  readonly sendRule: string;
  /** The zone of local times. */
  readonly zone: string | null;
  /** `number`: a message without a zone is sent in the hours that are open in all zones of its number's country. */
  readonly zoneFrom: 'number' | null;
  /** How long after its time a message may still be sent, such as `1h`; then it lapses. */
  readonly late: string;
  /** Null: messages may be sent whenever the lane may send. */
  readonly window: SendWindow | null;
  readonly createdAt: string;
  /** In total and in each state. The states add up to the total. */
  readonly counts: { readonly total: number } & Readonly<Record<MessageState, number>>;
  /** When the next waiting message is sent; null if none is waiting. */
  readonly nextDue: string | null;
}

/** See {@link OutboxStatus}. */
export const outboxStatus = z
  .object({
    name: z.string(),
    lane: z.string(),
    state: z
      .enum(['open', 'paused', 'closed'])
      .describe(
        '`paused`: it sends nothing until you resume it; `closed`: it accepts no new messages, and sends those that it has',
      ),
    reason: textOrNull.describe(
      'Why nothing is sent: the service has refused every request, or the lane is not configured; else null',
    ),
    message: z.string(),
    sender: z.string(),
    sendRule: z
      .string()
      .describe('When a message without a time of its own is sent, such as `appointment - 24h`'),
    zone: textOrNull.describe('The zone of local times'),
    zoneFrom: schemaOf('zoneFrom').nullable().describe(FIELDS.zoneFrom.description),
    late: z
      .string()
      .describe('How long after its time a message may still be sent, such as `1h`; then it lapses'),
    window: sendWindow.nullable().describe('When messages may be sent; null: whenever the lane may send'),
    ...returnedOutboxFields,
    createdAt: time,
    counts: z
      .object({ total: count, waiting: count.describe('Stored, and not sent yet'), ...states })
      .readonly()
      .describe('The number of messages in total and in each state. The states add up to the total'),
    nextDue: time.nullable().describe('When the next waiting message is sent; null if none is waiting'),
  })
  .readonly()
  .meta({ id: 'OutboxStatus' });
/** A created outbox. */
export interface CreatedOutbox extends OutboxStatus {
  /** `existing`: the lane has one of this name with the same settings; nothing has changed. */
  readonly outcome: 'created' | 'existing';
}

/** See {@link CreatedOutbox}. */
export const createdOutbox = outboxStatus
  .unwrap()
  .extend({
    outcome: z
      .enum(['created', 'existing'])
      .describe('`existing`: the lane has one of this name with the same settings; nothing has changed'),
  })
  .readonly()
  .meta({ id: 'OutboxCreated' });

/** An outbox after a put. */
export interface PutOutbox extends OutboxStatus {
  readonly outcome: (typeof PUT_OUTCOMES)[number];
}

/** See {@link PutOutbox}. */
export const putOutbox = outboxStatus
  .unwrap()
  .extend({ outcome: putOutcome })
  .readonly()
  .meta({ id: 'OutboxSettingsPut' });

/** What a change of the settings of an outbox does, or would do, to the messages that wait in it. */
export interface OutboxChange {
  readonly name: string;
  /** The settings that differ; empty if nothing changes. */
  readonly changed: readonly string[];
  /** Messages that wait in the outbox. */
  readonly waiting: number;
  /** Those of them that get another time. */
  readonly moved: number;
  /** Those of these that are due at once. */
  readonly dueNow: number;
  /** Messages that lapse, because their new time is over, or their window opens too late. */
  readonly lapsing: number;
  /** Values that waiting messages lack, or that the new settings cannot use. */
  readonly unfit: readonly {
    /** The value at fault. */
    readonly member: string;
    readonly code: ErrorCode;
    /** What is wrong with the first of these messages. */
    readonly reason: string;
    readonly messageCount: number;
    /** The ids of the first few. */
    readonly ids: readonly string[];
  }[];
}

/** See {@link OutboxChange}. */
export const outboxChange = z
  .object({
    name: z.string(),
    changed: z.string().array().readonly().describe('The settings that differ; empty if nothing changes'),
    waiting: count.describe('Messages that wait in the outbox'),
    moved: count.describe('Those of them that get another time'),
    dueNow: count.describe('Those of these that are due at once'),
    lapsing: count.describe(
      'Messages that lapse, because their new time is over, or their window opens too late',
    ),
    unfit: z
      .object({
        member: z.string().describe('The value at fault'),
        code: errorCode,
        reason: z.string().describe('What is wrong with the first of them'),
        messageCount: count.describe('How many messages'),
        ids: z.string().array().readonly().describe('The ids of the first few'),
      })
      .readonly()
      .array()
      .readonly()
      .describe('Values that waiting messages lack, or that the new settings cannot use'),
  })
  .readonly()
  .meta({ id: 'OutboxChange' });
/** The states of a message: `waiting` until it is claimed, then those of a recipient. */
export const MESSAGE_STATES = [
  'waiting',
  ...RECIPIENT_STATES.filter((state) => state !== 'planned'),
] as const;
/** See {@link MESSAGE_STATES}. */
export type MessageState = (typeof MESSAGE_STATES)[number];

/** A message of an outbox. */
export interface OutboxMessageStatus {
  readonly id: string;
  readonly state: MessageState;
  /** When it is, or was, due; null for an id that was cancelled before it was put. */
  readonly sendAt: string | null;
  readonly version: number | null;
  /** In E.164; null for a number that was forgotten, and for an id that was cancelled before it was put. */
  readonly to: string | null;
  readonly reference: string | null;
  readonly tag: string | null;
  /** Its own time zone. */
  readonly zone: string | null;
  /** The values that are stored, by their names; null once the state is final. */
  readonly values: Readonly<Record<string, string>> | null;
  /** The text with these values; null without them. */
  readonly text: string | null;
  readonly sentAt: string | null;
  /** The service's id of the request, or our reference if the outcome of the request is unknown. */
  readonly requestId: string | null;
  /** Why it was not sent or delivered, or cannot be; while it waits for the hours of its own zone, until when. */
  readonly reason: string | null;
  /** The service's own word for the delivery status, where it says more than `state`. */
  readonly serviceStatus: string | null;
  /** The code that the service gave with `serviceStatus`. */
  readonly serviceCode: string | null;
}

/** See {@link OutboxMessageStatus}. */
export const outboxMessage = z
  .object({
    id: z.string(),
    state: z.enum(MESSAGE_STATES),
    sendAt: time
      .nullable()
      .describe('When it is, or was, due; null for an id that was cancelled before it was put'),
    version: count.nullable(),
    to: textOrNull.describe(
      'In E.164; null for a number that was forgotten, and for an id that was cancelled before it was put',
    ),
    reference: textOrNull,
    tag: textOrNull,
    zone: textOrNull.describe('Its own time zone'),
    values: z
      .record(z.string(), z.string())
      .readonly()
      .nullable()
      .describe('The values that are stored, by their names; null once the state is final'),
    text: textOrNull.describe('The text with these values; null without them'),
    sentAt: time.nullable(),
    requestId: textOrNull.describe(
      "The service's id of the request, or our reference if the outcome of the request is unknown",
    ),
    reason: textOrNull.describe('Why it was not sent or delivered, or cannot be'),
    serviceStatus: textOrNull.describe(
      "The service's own word for the delivery status, where it says more than `state`",
    ),
    serviceCode: textOrNull.describe('The code that the service gave with `serviceStatus`'),
  })
  .readonly()
  .meta({ id: 'OutboxMessage' });
/** What a put of one message of many did. */
export const BULK_OUTCOMES = [...PUT_OUTCOMES, 'refused'] as const;
/** See {@link BULK_OUTCOMES}. */
export type PutOutcome = (typeof BULK_OUTCOMES)[number];

/** Why a change of a message comes too late. */
export const LATE_CODES = ['stale', 'sent', 'ended'] as const satisfies readonly ErrorCode[];
/** See {@link LATE_CODES}. */
export type LateCode = (typeof LATE_CODES)[number];

/** The result of a put. */
export interface PutResult {
  readonly id: string;
  readonly outcome: Exclude<PutOutcome, 'refused'>;
  /** When the stored message will be sent; null if it is not waiting. */
  readonly sendAt: string | null;
  /** What you may not have intended, such as a value that neither the text nor `sendRule` uses. */
  readonly warnings: readonly string[];
}

/** See {@link PutResult}. */
export const putResult = z
  .object({
    id: z.string(),
    outcome: z.enum(PUT_OUTCOMES),
    sendAt: time.nullable().describe('When the stored message will be sent; null if it is not waiting'),
    warnings: z
      .array(z.string())
      .readonly()
      .describe('What you may not have intended, such as a value that neither the text nor `sendRule` uses'),
  })
  .readonly()
  .meta({ id: 'OutboxPut' });
/** The result for one message of many. */
export interface BulkResult {
  readonly id: string;
  readonly outcome: PutOutcome;
  /** Why it was refused, as a put of this message alone would be; else null. */
  readonly code: 'badInput' | 'opensTooLate' | LateCode | null;
  readonly sendAt: string | null;
  /** The line of the list, or the position, from 1. */
  readonly line: number;
  /** What is wrong with it; empty if it was not refused. */
  readonly errors: readonly ErrorItem[];
  /** What you may not have intended. A value that is not used is named once for a list. */
  readonly warnings: readonly string[];
}

/** See {@link BulkResult}. */
export const bulkResult = z
  .object({
    id: z.string(),
    outcome: z.enum(BULK_OUTCOMES),
    code: z
      .enum(['badInput', 'opensTooLate', ...LATE_CODES])
      .nullable()
      .describe('Why it was refused, as a request with this message alone would be; else null'),
    sendAt: time.nullable(),
    line: count.describe('The line of the list, or the position, from 1'),
    errors: z.array(errorItem).readonly().describe('What is wrong with it; empty if it was not refused'),
    warnings: z
      .array(z.string())
      .readonly()
      .describe('What you may not have intended. A value that is not used is named once for a list'),
  })
  .readonly()
  .meta({ id: 'OutboxBulkResult' });
/** The result of a cancel. */
export interface CancelResult {
  readonly id: string;
  /** `lapsed`: it had lapsed before. */
  readonly outcome: 'cancelled' | 'lapsed';
}

/** See {@link CancelResult}. */
export const cancelResult = z
  .object({
    id: z.string(),
    outcome: z.enum(['cancelled', 'lapsed']).describe('`lapsed`: it had lapsed before'),
  })
  .readonly()
  .meta({ id: 'OutboxCancel' });

/** The result of a cancel, for one message of many. */
export interface CancelledMessage {
  readonly id: string;
  /** `lapsed`: it had lapsed before. */
  readonly outcome: 'cancelled' | 'lapsed' | 'refused';
  /** Why it was refused, else null. */
  readonly code: 'sent' | 'notFound' | null;
}

/** See {@link CancelledMessage}. */
export const cancelledMessage = cancelResult
  .unwrap()
  .extend({
    outcome: z.enum(['cancelled', 'lapsed', 'refused']).describe('`lapsed`: it had lapsed before'),
    code: z
      .enum(['sent', 'notFound'])
      .nullable()
      .describe('Why it was refused, else null. `sent`: it is too late'),
  })
  .readonly()
  .meta({ id: 'OutboxCancelled' });
