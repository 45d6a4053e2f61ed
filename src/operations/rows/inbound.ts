import { z } from 'zod';
import { listedMessage, MAX_PARTS } from '../../campaign/states/inbound.js';
import { byCallingLane, byLanesOfKey } from '../access.js';
import { call, page } from '../operation.js';
import { country } from '../schemas/campaign-members.js';
import { LANE_FLAG, laneName, onlyOfLane } from '../schemas/schemas.js';

const place = z.int().min(1).max(MAX_PARTS);

export const receiveInbound = call({
  name: 'receiveInbound',
  summary: 'Submit a message that a person sent',
  description:
    'For a service without inbound messages, such as version 1: the gateway that receives the replies to your numbers submits them here. After the response to a stop word, no request that begins goes to its sender. A message whose `messageId` the lane knows changes nothing, so retry until you get a 200.',
  tag: 'Replies',
  scope: 'inbound',
  bucket: 'control',
  access: byCallingLane,
  http: 'POST /inbound',
  cli: { because: 'a gateway submits messages over HTTP' },
  input: z.strictObject({
    lane: laneName.describe('The lane of the number that got the message'),
    messageId: z.string().min(1).max(128).describe("The gateway's id of the message, at most 128 bytes"),
    from: z
      .string()
      .min(1)
      .max(100)
      .describe(
        'Who sent it, as the gateway writes it: with or without a plus, `tel:`, or 00. Digits without a plus are a number of `country` or an international one; if both exist, the one that got a message from `to`. A message is stored even if this is no phone number',
      ),
    to: z
      .string()
      .min(1)
      .max(100)
      .describe('The number that it was sent to, as campaigns spell it as their sender'),
    text: z.string().max(10_000),
    part: z
      .strictObject({
        reference: z
          .int()
          .min(0)
          .max(65_535)
          .describe('By which the phone has marked all parts of the message'),
        number: place.describe('Which part this is, from 1'),
        total: place.describe('How many parts there are'),
      })
      .optional()
      .describe('Of a long message that arrives in parts: Volley joins them'),
    country,
  }),
  output: z.object({ lane: laneName, messageId: z.string() }),
  returns: 'The message is stored, and what it asked for is done',
  outcomes: ['notFound', 'keyFull'],
  async run(volley, message) {
    await volley.inbound.receive(message);
    return { lane: message.lane, messageId: message.messageId };
  },
});

export const listInbound = page({
  name: 'listInbound',
  summary: 'List the messages that people sent',
  description:
    'Returns the messages of the RETENTION period, newest first, with what each of them asked for. A message in parts is listed when its last part has arrived, or 15 minutes after its first.',
  tag: 'Replies',
  scope: 'read',
  cost: { itemsPerToken: 50 },
  access: byLanesOfKey,
  http: 'GET /inbound',
  cli: {
    usage: 'inbound list',
    flags: {
      lane: LANE_FLAG,
      campaign: { value: 'id', about: 'only replies to this campaign' },
    },
    examples: ['inbound list', 'inbound list --lane default --limit 200'],
  },
  httpNote:
    'With `campaign`, a page may have few messages, or none, though others follow: `nextCursor` says so. For those of one number, see `findNumber`.',
  input: z.strictObject({
    lane: onlyOfLane('messages'),
    campaign: z
      .string()
      .max(64)
      .optional()
      .describe('Only replies to this campaign, by its id: those whose `lastSent` names it'),
  }),
  member: 'messages',
  item: listedMessage,
  returns: 'A page of the messages, newest first',
  position: 'inbound',
  limit: { max: 200, usual: 50 },
  shown: { max: 100_000, usual: 50 },
  async run(volley, { campaign, limit, cursor }, { lanes }) {
    const { messages, nextCursor } = await volley.inbound.list({ lanes, campaign, limit, cursor });
    return { items: messages, nextCursor };
  },
});
