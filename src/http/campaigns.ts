import { z } from 'zod';
import { CAMPAIGN_ID } from '../campaign/campaign-id.js';
import { CAMPAIGN_STATES, campaignStatus, preview } from '../campaign/views.js';
import { systemClock } from '../clock.js';
import { keyOf, mustStillStand } from './access.js';
import { campaignId, mustSeeCampaign } from './campaign-id.js';
import { badRow, badRows, campaignRequest } from './campaign-request.js';
import { ownIdempotencyKey, refusalOf } from './enqueue.js';
import { campaignAsked } from './parse-campaign.js';
import { waitedForAtTheEnd } from './pending-requests.js';
import { Problem } from './problem.js';
import { answered, refused } from './responses.js';
import type { Routes } from './routes.js';

const count = z.int().min(0);

/** What became of a campaign that was asked for: the members of `volley send --json`. */
const created = z
  .object({
    id: z.string(),
    recipients: count,
    duplicates: count,
    invalid: count,
    suppressed: count,
    existing: z.boolean().describe('It was made before with this idempotency key; nothing was added'),
    problems: z.array(badRow).describe('The first 20 bad rows that were left out'),
  })
  .meta({ id: 'CampaignCreated' });

const idempotency = z.looseObject({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'The same key makes no second campaign while the first is kept: the same content is answered with that, other content is refused',
    ),
});

const page = z.object({
  campaigns: z.array(campaignStatus),
  nextCursor: z.string().nullable().describe('Give it as `cursor` for those that follow; null at the end'),
});

/** Making campaigns, seeing what they would come to, and how they stand. */
export const campaigns: Routes = (app, options) => {
  const { volley, clock = systemClock } = options;
  const seenThrough = waitedForAtTheEnd(app);

  app.post(
    '/campaigns',
    {
      config: { scope: 'send', takesUpload: true },
      schema: {
        operationId: 'createCampaign',
        summary: 'Make a campaign',
        description:
          'From JSON, or from a form whose second part is the list as CSV, which is imported as it comes in, however long it is. Nothing is sent before all of it is there; of a list that breaks off nothing is kept. 201 for a new campaign, 200 for one that was made before with the same idempotency key.',
        tags: ['Campaigns'],
        headers: idempotency,
        body: campaignRequest.nullable(),
        response: {
          200: answered('The campaign that was made before with this idempotency key', created),
          201: answered('The campaign that was made; `location` is its address', created),
          ...refused('repeated', 'invalidRows', 'conflict'),
        },
      },
    },
    async (request, reply) => {
      const input = await campaignAsked(request, reply, options);
      const { at } = input;
      const mustBeToCome = (): void => {
        if (at !== undefined && at <= clock()) throw new Problem('badInput', 'at: it has passed', PASSED);
      };
      const given = request.headers['idempotency-key'];
      // What is asked for again may by now be past, and is answered all the same.
      if (given === undefined) mustBeToCome();
      const outcome = await seenThrough(
        volley.enqueue({
          ...input,
          idempotencyKey: ownIdempotencyKey(keyOf(request), input, given),
          repeatsWithin: keyOf(request).lanes === null ? undefined : 'lane',
          async confirm() {
            // A list may take an hour to come in.
            await mustStillStand(volley, request);
            mustBeToCome();
            return true;
          },
        }),
      );
      if (!('recipients' in outcome))
        throw await refusalOf(volley, keyOf(request), outcome, request.isMultipart());
      const { id, recipients, duplicates, invalid, suppressed } = outcome;
      const existing = outcome.kind === 'existing';
      const problems = badRows(outcome.preview.problems);
      return reply
        .code(existing ? 200 : 201)
        .header('location', `/v1/campaigns/${id}`)
        .send({ id, recipients, duplicates, invalid, suppressed, existing, problems });
    },
  );

  app.post(
    '/preview',
    {
      config: { scope: 'send', takesUpload: true },
      schema: {
        operationId: 'previewCampaign',
        summary: 'See what a campaign would come to',
        description: 'Takes what makes a campaign; nothing is stored and nothing is sent.',
        tags: ['Campaigns'],
        body: campaignRequest.nullable(),
        response: { 200: answered('What it would come to', preview) },
      },
    },
    async (request, reply) => {
      return volley.preview(await campaignAsked(request, reply, options));
    },
  );

  app.get(
    '/campaigns',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listCampaigns',
        summary: 'List campaigns, the newest first',
        description: 'A page may be short, or empty, before the end: go on until `nextCursor` is null.',
        tags: ['Campaigns'],
        querystring: z.strictObject({
          state: z.enum(CAMPAIGN_STATES).optional(),
          limit: z.coerce.number().int().min(1).max(200).default(50).describe('How many at most'),
          cursor: z
            .string()
            .regex(CAMPAIGN_ID, 'is none that was given: take `nextCursor` of the page before')
            .optional()
            .describe('`nextCursor` of the page before'),
        }),
        response: { 200: answered('A page of them, the newest first', page) },
      },
    },
    async (request) => {
      const { state, limit, cursor } = request.query;
      const lanes = keyOf(request).lanes ?? undefined;
      const found = await volley.page({ state, limit, after: cursor, lanes });
      return { campaigns: found.campaigns, nextCursor: found.next };
    },
  );

  app.get(
    '/campaigns/:id',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getCampaign',
        summary: 'See how a campaign stands',
        tags: ['Campaigns'],
        params: campaignId,
        response: { 200: answered('How it stands now', campaignStatus), ...refused('notFound') },
      },
    },
    async (request) => {
      await mustSeeCampaign(volley, request, request.params.id);
      return volley.status(request.params.id);
    },
  );
};

const PASSED = { errors: [{ pointer: '/at', message: 'it has passed; leave it out to send at once' }] };
