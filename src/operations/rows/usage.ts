import { z } from 'zod';
import { USAGE_OUTCOMES, type UsageDay } from '../../engine/lane/usage.js';
import { byLanesOfKey } from '../access.js';
import { call } from '../operation.js';
import { count, LANE_FLAG, onlyOfLane } from '../schemas/schemas.js';

const day = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/, 'Use a day such as 2030-05-01')
  .optional();

const COUNTS = {
  messageCount: count.describe('Messages that the service has accepted'),
  segmentCount: count.describe('Their segments'),
  cost: z.string().nullable().describe('What they cost, by the prices of the workers; null without prices'),
  outcomes: z
    .object(
      Object.fromEntries(USAGE_OUTCOMES.map((outcome) => [outcome, z.int()])) as {
        [Outcome in (typeof USAGE_OUTCOMES)[number]]: z.ZodInt;
      },
    )
    .describe('Recipients that got each final state. A late report counts one `unconfirmed` less'),
} as const;

const usageDay: z.ZodType<UsageDay> = z
  .object({
    day: z.string().describe('A day in UTC, such as `2030-05-01`'),
    ...COUNTS,
    tags: z
      .array(z.object({ tag: z.string(), ...COUNTS }))
      .describe(
        'The same by tag; a message counts for each of its tags. Beyond 200 tags, the rest is `other`',
      ),
  })
  .meta({ id: 'UsageDay' });

export const getUsage = call({
  name: 'getUsage',
  summary: 'Count what was sent on each day',
  description:
    'Returns messages, segments, cost, and outcomes per UTC day, in total and by tag, without phone numbers. Each message and outcome counts once, on the day on which Volley learned of it. Volley keeps each day for 400 days, even after its campaigns are removed.',
  httpNote: 'A key that is limited to lanes sees only those.',
  tag: 'Operation',
  scope: 'read',
  cost: { tokens: 10 },
  access: byLanesOfKey,
  http: 'GET /usage',
  cli: {
    usage: 'usage',
    flags: {
      from: { value: 'day' },
      to: { value: 'day' },
      lane: LANE_FLAG,
      tag: { value: 'label' },
      key: { value: 'id' },
    },
    examples: ['usage', 'usage --from 2030-05-01 --to 2030-05-31 --tag newsletter'],
  },
  input: z.strictObject({
    from: day.describe('The first day. Default: 29 days before the last one'),
    to: day.describe('The last day. Default: today'),
    lane: onlyOfLane('messages'),
    tag: z.string().min(1).max(64).optional().describe('Only campaigns and outboxes with this tag'),
    key: z.string().min(1).max(40).optional().describe('Only what the API key with this id has created'),
  }),
  output: z.object({
    lanes: z.array(z.string()).nullable().describe('The lanes that it covers; null: all'),
    days: z.array(usageDay),
  }),
  returns: 'The days on which something was sent or got an outcome, oldest first',
  outcomes: ['badInput'],
  run: async (volley, { from, to, tag, key }, { lanes }) => ({
    lanes: lanes === undefined ? null : [...lanes],
    days: await volley.usage({ from, to, lanes, tag, key }),
  }),
});
