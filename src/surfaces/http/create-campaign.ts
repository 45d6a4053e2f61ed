import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Volley } from '../../app/volley.js';
import { systemClock, within } from '../../base/clock.js';
import type { ApiKey } from '../../campaign/api-key.js';
import {
  differentTexts,
  invalidRow,
  type Preview,
  plannedCost,
  preview,
  repeats,
} from '../../campaign/preview-views.js';
import type { EnqueueOutcome } from '../../intake/import/campaign-input.js';
import { actingFor, allowsCampaign, apiKeyOf, requireActiveKey } from './access.js';
import { campaignRequest, idempotencyHeader, PAST, readCampaign } from './campaign-request.js';
import { invalidMember, Problem, type ProblemItem } from './problem.js';
import { count, jsonResponse, problemResponses, type Routes } from './routes.js';

/** An invalid row without its values, which the client has. */
const rejectedRow = invalidRow.unwrap().pick({ line: true, column: true, reason: true });

/** A created campaign: the members of `volley send --json`. */
const createdCampaign = z
  .object({
    id: z.string(),
    recipients: count.describe('Recipients who get a message'),
    duplicates: count.describe('Rows that were left out because their number is that of an earlier row'),
    differentTexts,
    repeats,
    invalid: count,
    suppressed: count.describe('Recipients who get no message because their number is suppressed'),
    existing: z
      .boolean()
      .describe('An earlier request with the same idempotency key created it; this request changed nothing'),
    cost: plannedCost.nullable().describe('What the messages cost; null if no prices are configured'),
    problems: z.array(rejectedRow).describe('The first 20 invalid rows that were left out'),
    warnings: z
      .array(z.string())
      .readonly()
      .describe('What may not be as intended, for people; also in the preview'),
  })
  .meta({
    id: 'CampaignCreated',
    examples: [
      {
        id: 'mwrwtvlrlfo07',
        recipients: 1,
        duplicates: 0,
        differentTexts: 0,
        repeats: [],
        invalid: 0,
        suppressed: 0,
        existing: false,
        cost: {
          total: '0.042',
          currency: 'EUR',
          segmentPrice: { min: '0.042', max: '0.042' },
          maxCost: '50.00',
          unpriced: 0,
          unpricedRows: [],
        },
        problems: [],
        warnings: [],
      },
    ],
  });

/** Creating campaigns, and previewing them. */
export const campaignCreation: Routes = (app, options, memory) => {
  const { volley, clock = systemClock } = options;
  const untilClosed = finishBeforeClose(app);

  app.post(
    '/campaigns',
    {
      attachValidation: true,
      config: { scope: 'send', acceptsUpload: true, list: 'recipients', transfersList: true },
      schema: {
        operationId: 'createCampaign',
        summary: 'Create a campaign',
        description:
          'Send JSON, or a form whose second part is the list as CSV. The CSV is imported while it arrives, so it can be of any length. Nothing is sent until the whole list has arrived, and an incomplete upload is discarded. The status is 201 for a new campaign, and 200 for an existing one with the same idempotency key.',
        tags: ['Campaigns'],
        headers: idempotencyHeader,
        body: campaignRequest.nullable(),
        response: {
          200: jsonResponse('The existing campaign with this idempotency key', createdCampaign),
          201: jsonResponse('The new campaign. `Location` is its address.', createdCampaign),
          ...problemResponses(
            'repeated',
            'keyFull',
            'invalidRows',
            'differentTexts',
            'noPrice',
            'overBudget',
            'conflict',
          ),
        },
      },
    },
    async (request, reply) => {
      const input = await readCampaign(request, reply, { ...options, refusesPast: true }, memory);
      const key = apiKeyOf(request);
      const requireFuture = (): void => {
        if (input.at !== undefined && input.at <= clock()) {
          throw invalidMember('at', PAST);
        }
      };
      const idempotencyKey = request.headers['idempotency-key'];
      const outcome = await untilClosed(
        actingFor(volley, request).enqueue({
          ...input,
          idempotencyKey,
          async confirm() {
            // The list may have taken an hour to arrive.
            await requireActiveKey(volley, request);
            requireFuture();
            return true;
          },
        }),
      );
      if (!('recipients' in outcome)) throw await rejection(volley, key, outcome, request.isMultipart());
      const { id, recipients, duplicates, differentTexts, invalid, suppressed } = outcome;
      const { repeats, warnings, cost } = outcome.preview;
      const existing = outcome.kind === 'existing';
      const problems = outcome.preview.problems.map(({ line, column, reason }) => ({ line, column, reason }));
      return reply
        .code(existing ? 200 : 201)
        .header('location', `/v1/campaigns/${id}`)
        .send({
          id,
          recipients,
          duplicates,
          differentTexts,
          repeats,
          invalid,
          suppressed,
          existing,
          cost,
          problems,
          warnings,
        });
    },
  );

  app.post(
    '/preview',
    {
      attachValidation: true,
      config: { scope: 'send', acceptsUpload: true, list: 'recipients', transfersList: true },
      schema: {
        operationId: 'previewCampaign',
        summary: 'Preview a campaign',
        description:
          'Takes the same request as creating a campaign, and returns its recipients, segments, requests, and duration. Nothing is stored or sent.',
        tags: ['Campaigns'],
        body: campaignRequest.nullable(),
        response: { 200: jsonResponse('The preview', preview) },
      },
    },
    async (request, reply) =>
      volley.preview({
        ...(await readCampaign(request, reply, { ...options, refusesPast: false }, memory)),
      }),
  );
};

/** Longer than it takes to discard an import. The app does not wait longer for a Redis that does not respond. */
const CLOSE_WAIT_MS = 3_000;

/**
 * Makes the app wait for work when it closes, even if the client that requested it has disconnected: an import must leave
 * nothing behind. The returned function returns the promise it is given.
 */
function finishBeforeClose(app: FastifyInstance): <Result>(work: Promise<Result>) => Promise<Result> {
  const pending = new Set<Promise<unknown>>();
  app.addHook('onClose', async () => {
    await within(CLOSE_WAIT_MS, Promise.allSettled(pending)).catch(() => {});
  });
  return (work) => {
    pending.add(work);
    const remove = (): void => void pending.delete(work);
    work.then(remove, remove);
    return work;
  };
}

/** The response to a campaign that was not created. */
async function rejection(
  volley: Volley,
  key: ApiKey,
  outcome: Exclude<EnqueueOutcome, { recipients: number }>,
  isUpload: boolean,
): Promise<Problem> {
  /** Names the existing campaign if the key may see it. */
  const existing = async (id: string) =>
    (await allowsCampaign(volley, key, id)) ? { members: { campaign: id } } : {};
  switch (outcome.kind) {
    case 'invalidRows':
      return invalidRows(outcome.preview, isUpload);
    case 'differentTexts':
      return differentTextsProblem(outcome.reason, outcome.preview, isUpload);
    case 'noPrice':
      return noPriceProblem(outcome.preview, isUpload);
    case 'overBudget': {
      const { total = '', maxCost = '', currency = '' } = outcome.preview.cost ?? {};
      return new Problem(
        'overBudget',
        `The campaign costs ${total} ${currency}, which is more than the limit of ${maxCost} ${currency}. Nothing was sent.`,
        {
          errors: [{ pointer: '/maxCost', message: `The campaign costs ${total} ${currency}.` }],
          members: { total, maxCost, currency },
        },
      );
    }
    case 'repeated':
      return new Problem(
        'repeated',
        'A campaign of the last 24 hours has the same list, text, and sender. To send it once more, set `again`.',
        await existing(outcome.id),
      );
    case 'conflict':
      return new Problem(
        'conflict',
        'The idempotency key belongs to a campaign with another list, text, sender, sender name, lane, time, validity, or priority. Repeat the original request, or use another key.',
        await existing(outcome.id),
      );
    case 'declined':
      return new Problem('failed', 'The campaign was not created.');
    default:
      return outcome satisfies never;
  }
}

function differentTextsProblem(reason: string, preview: Preview, isUpload: boolean): Problem {
  const { numberColumn: column, differentTexts: count } = preview;
  const errors = preview.repeats
    .filter(({ text }) => text === 'different')
    .map(({ line, firstLine, recipient }): ProblemItem => {
      const pointer = isUpload ? '/recipients' : `/recipients/${line - 1}`;
      const message = `It has the number of row ${firstLine} (${recipient}), but a different text`;
      return { pointer, message, line, column, firstLine };
    });
  const more = count > 1 ? ` There are ${count - 1} more such rows.` : '';
  const detail = `${reason.replace(/^r/, 'R')}.${more} Nothing was sent. Set \`duplicates\` to \`keep\` to send both messages, or to \`first\` to send only the first to each number.`;
  return new Problem('differentTexts', detail, { errors, members: { differentTexts: count } });
}

/** The reason of a row begins with its value in quotation marks, or with a verb about it. */
function sentenceOf(reason: string): string {
  return /^[a-z]/.test(reason) ? `It ${reason}` : reason;
}

function noPriceProblem({ cost, numberColumn: column }: Preview, isUpload: boolean): Problem {
  const { unpriced = 0, unpricedRows = [] } = cost ?? {};
  const errors = unpricedRows.map(({ line, recipient }): ProblemItem => {
    const pointer = isUpload ? '/recipients' : `/recipients/${line - 1}/${column}`;
    return { pointer, message: `${recipient} has no price.`, line, column };
  });
  const detail = `${unpriced === 1 ? '1 number has' : `${unpriced} numbers have`} no price, so the cost cannot be compared with \`maxCost\`. Nothing was sent. Leave the numbers out, or leave out \`maxCost\`.`;
  return new Problem('noPrice', detail, { errors, members: { unpriced } });
}

function invalidRows({ invalid, rows, problems, invalidGroups }: Preview, isUpload: boolean): Problem {
  const errors = problems.map(({ line, column, reason }): ProblemItem => {
    // In a CSV the line is the place; in JSON a pointer can name it.
    const pointer = isUpload
      ? '/recipients'
      : `/recipients/${line - 1}${column === null ? '' : `/${column}`}`;
    return { pointer, message: sentenceOf(reason), line, column };
  });
  const national = invalidGroups.find(({ cause }) => cause === 'noCountry');
  const fix =
    national === undefined
      ? 'Fix them'
      : `Set \`country\`${national.country === null ? '' : ` to \`${national.country}\``}${national.count === invalid ? '' : ', and fix the others'}`;
  const detail =
    invalid === rows
      ? `Every row of the list is invalid. Nothing was sent. ${fix}.`
      : `Invalid rows: ${invalid} of ${rows}. Nothing was sent. ${fix}, or set \`skipInvalid\` to leave them out.`;
  return new Problem('invalidRows', detail, { errors, members: { invalid, rows } });
}
