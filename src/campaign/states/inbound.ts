import { z } from 'zod';

/** A message has at most as many parts, because a phone numbers them with one byte. */
export const MAX_PARTS = 255;

/** What a stop word or a start word did. */
export interface InboundEffect {
  readonly wish: 'stop' | 'start';
  /** The operation on the suppression list that keeps the number off, or that was undone; null if there is none. */
  readonly operation: string | null;
  /** False if the number was suppressed already, or was not. */
  readonly isNew: boolean;
  /** Of a stop: messages to the number that workers were sending at that moment, which may still arrive. No later one is sent. */
  readonly inFlightCount: number;
  /** The campaign that confirms the stop; null if none does. */
  readonly reply: string | null;
}

/** See {@link InboundEffect}. */
const effect = z
  .object({
    wish: z
      .enum(['stop', 'start'])
      .describe('`stop`: the text is a stop word; `start`: it is a start word, after a stop word'),
    operation: z
      .string()
      .nullable()
      .describe(
        'The operation on the suppression list that keeps the number off, or that was undone; null if there is none: the sender is no phone number, or a start word had nothing to lift',
      ),
    isNew: z
      .boolean()
      .describe('Whether it changed anything: false if the number was suppressed already, or was not'),
    inFlightCount: z
      .int()
      .min(0)
      .describe(
        'Of a stop: the messages to the number that workers were sending at that moment, which may still arrive. No later one is sent',
      ),
    reply: z.string().nullable().describe('The campaign that confirms the stop; null if none does'),
  })
  .readonly();
/** The last message that a number got from one of our numbers. */
export interface LastSent {
  /** Null for a message of an outbox. */
  readonly campaign: string | null;
  /** That of the number in the campaign; null if it has none. */
  readonly reference: string | null;
  /** The outbox that the message came from; null if it came from none. */
  readonly outbox: string | null;
  /** Its id in the outbox. */
  readonly message: string | null;
}

/** See {@link LastSent}. */
export const lastSent = z
  .object({
    campaign: z.string().nullable().describe('Null for a message of an outbox'),
    reference: z.string().nullable().describe('The reference of the number in it; null if it has none'),
    outbox: z
      .string()
      .nullable()
      .describe('The outbox that the message came from; null if it came from none'),
    message: z.string().nullable().describe('Its id in the outbox'),
  })
  .readonly();
/** The last message that a subscriber got, and how its campaign spells its number and its sender. */
export interface LastMessage {
  readonly number: string;
  readonly sender: string;
  readonly message: LastSent;
}

/** A message that a person sent to one of our numbers. */
export interface InboundMessage {
  readonly lane: string;
  /** The service's id of the message; of one in parts, that of its first part. */
  readonly messageId: string;
  /** E.164, or as the service spells a sender that is no phone number. */
  readonly from: string;
  /** The number or sender that it was sent to, as the service spells it. */
  readonly to: string;
  /** A part that never arrived is shown as `[…]`. */
  readonly text: string;
  /** When Volley received it, or its first part. */
  readonly receivedAt: string;
  /** Null if it is neither a stop word nor a start word. */
  readonly effect: InboundEffect | null;
  /** The last message to the number from `to`, if it is among the latest ones; confirmations of stop words do not count. */
  readonly lastSent: LastSent | null;
}

/** See {@link InboundMessage}. */
export const inboundMessage = z
  .object({
    lane: z.string(),
    messageId: z
      .string()
      .describe("The service's id of the message; of one in parts, that of its first part"),
    from: z
      .string()
      .describe('Who sent it: E.164, or as the service spells a sender that is no phone number'),
    to: z.string().describe('The number or sender that it was sent to, as the service spells it'),
    text: z.string().describe('Its text. A part that never arrived is shown as `[…]`'),
    receivedAt: z.string().describe('When Volley received it, or its first part; ISO 8601, UTC'),
    effect: effect
      .nullable()
      .describe('What it asked for; null if it is neither a stop word nor a start word'),
    lastSent: lastSent
      .nullable()
      .describe(
        'The last message that was sent to the number from `to`, apart from confirmations of stop words, if it is in one of the latest 1,000 campaigns of the lane from `to`, of 10,000 in all, and among their latest 4 million recipients; otherwise null',
      ),
  })
  .readonly()
  .meta({ id: 'InboundMessage' });

/** A message in a list. */
export interface ListedMessage extends InboundMessage {
  /** The name of the campaign in `lastSent`; null if that names none, or if the campaign is no longer stored. */
  readonly campaignName: string | null;
}

/** See {@link ListedMessage}. */
export const listedMessage = inboundMessage
  .unwrap()
  .extend({
    campaignName: z
      .string()
      .nullable()
      .describe(
        'The name of the campaign in `lastSent`; null if that names none, or if the campaign is no longer stored',
      ),
  })
  .readonly()
  .meta({ id: 'ListedInboundMessage' });
