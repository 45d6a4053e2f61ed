import { z } from 'zod';
import { errorItem } from '../../campaign/errors/error-item.js';
import { differentTexts, repeats } from '../../campaign/views/list-views.js';
import { plannedCost, preview, sentBefore } from '../../campaign/views/preview-views.js';
import { campaignStatus } from '../../campaign/views/views.js';
import { allowsCampaign, byLaneAndSource } from '../access.js';
import { upload } from '../operation.js';
import { count, wholeNumber, yesOrNo } from '../schemas/schemas.js';
import { refusedCampaign } from './refused-campaign.js';

/** See {@link CreatedCampaign}. */
export const createdCampaign = z
  .object({
    outcome: z
      .enum(['created', 'existing'])
      .describe(
        '`existing`: an earlier request with the same idempotency key created it; this request changed nothing',
      ),
    id: z.string(),
    lane: z.string(),
    ...campaignStatus.unwrap().pick({ state: true, createdAt: true, sendAt: true, endedAt: true }).shape,
    recipientCount: count.describe('Recipients who get a message'),
    duplicates: count.describe('Rows that were left out because their number is that of an earlier row'),
    differentTexts,
    repeats,
    invalid: count,
    suppressed: count.describe('Recipients who get no message because their number is suppressed'),
    sentBefore: sentBefore
      .nullable()
      .describe('Who gets the text from an earlier campaign; null if that was not compared'),
    cost: plannedCost.nullable().describe('What the messages cost; null if no prices are configured'),
    errors: z.array(errorItem).readonly().describe('The first 20 invalid rows that were left out'),
    warnings: z
      .array(z.string())
      .readonly()
      .describe('What you may not have intended, for people; also in the preview'),
  })
  .meta({
    id: 'CampaignCreated',
    examples: [
      {
        outcome: 'created',
        id: 'mwrwtvlrlfo07',
        lane: 'default',
        state: 'running',
        createdAt: '2030-05-01T09:00:00.000Z',
        sendAt: '2030-05-01T09:00:00.000Z',
        endedAt: null,
        recipientCount: 1,
        duplicates: 0,
        differentTexts: 0,
        repeats: [],
        invalid: 0,
        suppressed: 0,
        sentBefore: null,
        cost: {
          total: '0.042',
          currency: 'EUR',
          segmentPrice: { min: '0.042', max: '0.042' },
          maxCost: '50.00',
          unpriced: 0,
          unpricedRows: [],
        },
        errors: [],
        warnings: [],
      },
    ],
  });

const STATUSES =
  'The status is 201 for a new campaign, and 200 for an existing one with the same idempotency key.';

/** The operations below accept a form as well. Clients that are generated from the document know one type of body for each operation. */
const BY_FORM = {
  isForm: true,
  cli: { because: 'the command takes a file' },
} as const;

export const createCampaign = upload({
  name: 'createCampaign',
  summary: 'Create a campaign',
  httpNote: `${STATUSES} It accepts the form of \`uploadCampaign\`, too.`,
  tag: 'Campaigns',
  scope: 'send',
  access: byLaneAndSource,
  audit: 'campaign.create',
  http: 'POST /campaigns',
  cli: {
    usage: 'send [file]',
    summary: 'Send a message to every number in a list, or to some of an earlier campaign',
    note: 'It shows a preview and asks first; without a terminal to ask on, it sends only with --yes. Exit code 3 with --wait: an operator must act.',
    examples: [
      'send examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}, 20% off with {{voucher}}"',
      'send examples/spring-sale.csv --country GB --sender 447700900123 --message @examples/spring-sale.txt --at {tomorrow} --yes',
      'send examples/spring-sale.csv --country GB --sender ACME --message @examples/spring-sale.txt --test-to +447700900123',
      'send --to-results-of last --status failed,unconfirmed --sender ACME --message "We could not reach you. Please call us."',
    ],
    byHand: 'it reads a file, and --wait follows the campaign; --test-to sends a sample',
  },
  // The table of campaign fields defines what it takes.
  input: z.strictObject({}),
  output: createdCampaign,
  returns: 'The new campaign. `Location` is its address.',
  creates: {
    at: ({ id }) => `/campaigns/${id}`,
    existing: 'The existing campaign with this idempotency key',
  },
  outcomes: [
    'repeated',
    'unexpected',
    'keyFull',
    'overLimit',
    'invalidRows',
    'differentTexts',
    'noPrice',
    'overBudget',
    'conflict',
  ],
  async run(volley, input, { key }) {
    const outcome = await volley.enqueue(input);
    if (outcome.outcome !== 'refused') return outcome;
    const { campaign } = outcome;
    const isSeen = key === undefined || campaign === null || (await allowsCampaign(volley, key, campaign));
    return refusedCampaign(outcome, isSeen);
  },
});

export const uploadCampaign = upload({
  ...createCampaign,
  ...BY_FORM,
  name: 'uploadCampaign',
  summary: 'Create a campaign with a list as CSV',
  httpNote: `Send a form whose first part, \`campaign\`, is the campaign as JSON, and whose second part, \`recipients\`, is the list. The CSV is imported while it arrives, so it can be of any length. Nothing is sent until the whole list has arrived, and an incomplete upload is discarded. ${STATUSES}`,
  http: 'POST /campaigns/upload',
});

export const previewCampaign = upload({
  name: 'previewCampaign',
  summary: 'Preview a campaign',
  description:
    'Returns the recipients, segments, cost, requests, and duration of a campaign. Nothing is stored or sent.',
  httpNote: 'Takes the same requests as `createCampaign`.',
  tag: 'Campaigns',
  scope: 'send',
  access: byLaneAndSource,
  http: 'POST /preview',
  cli: {
    usage: 'preview [file]',
    summary: 'Show what a campaign would send, and when',
    description:
      'It shows recipients, segments, cost, requests, time, and samples, and stores and sends nothing.',
    note: 'Exit code 2: `volley send` would refuse the list.',
    examples: [
      'preview examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}"',
      'PRICE_PER_SEGMENT="0.042 EUR" preview examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}" --max-cost 50',
    ],
    byHand: 'it reads a file, and shows samples of the messages',
  },
  input: z.strictObject({
    problems: wholeNumber(0, 1_000)
      .default(0)
      .describe('How many invalid rows the response lists as `problems`'),
    findsCountries: yesOrNo
      .default(false)
      .describe(
        'Whether a column whose name and cells say that it has countries is used if `countryColumn` names none: then `countryColumn` of the response says which',
      ),
    partial: yesOrNo
      .default(false)
      .describe(
        'Whether the list is only the beginning of one: then the response has no `digest`, `refusal`, `eta`, and `completion`, and everything else in it is about the beginning',
      ),
    sentBefore: z
      .enum(['count'])
      .optional()
      .describe('`count`: also finds who gets this text from a campaign of the last 24 hours'),
  }),
  output: preview,
  returns: 'The preview',
  outcomes: ['overLimit'],
  run: (volley, input, { key }) => volley.preview({ ...input, comparedLanes: key?.lanes ?? undefined }),
});

export const previewUpload = upload({
  ...previewCampaign,
  ...BY_FORM,
  name: 'previewUpload',
  summary: 'Preview a campaign with a list as CSV',
  httpNote: 'Takes the same form as `uploadCampaign`.',
  http: 'POST /preview/upload',
});
