import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import type { Volley } from '../../app/volley.js';
import { systemClock, within } from '../../base/clock.js';
import type { ApiKey } from '../../campaign/api-key.js';
import { COMPARED } from '../../campaign/field-sets.js';
import type { Preview } from '../../campaign/preview-views.js';
import type { CampaignInput } from '../../intake/import/campaign-input.js';
import type { CampaignRefusal, Upload } from '../../operations/operation.js';
import type { Refused } from '../../operations/outcomes.js';
import { allowsCampaign, apiKeyOf, requireActiveKey } from './access.js';
import { campaignRequest, idempotencyHeader, PAST, readCampaign } from './campaign-request.js';
import type { ListMemory } from './list-memory.js';
import { invalidMember, Problem, type ProblemItem } from './problem.js';
import type { HttpOptions } from './routes.js';

/** A request whose schema is that of campaigns. */
type CampaignRequest = Parameters<typeof readCampaign>[0];

/** What the routes of uploads need besides their operations. */
export interface CampaignReader {
  /** What the OpenAPI document says about the request. */
  schemaOf(operation: Upload): FastifySchema;
  read(operation: Upload, request: FastifyRequest, reply: FastifyReply): Promise<CampaignInput>;
  /** Makes an app that closes wait for this. Returns the promise. */
  untilClosed<Result>(work: Promise<Result>): Promise<Result>;
  /** The response to a campaign that was not created. */
  refusal(request: FastifyRequest, refused: Refused<CampaignRefusal>): Promise<Problem>;
}

/** Reads campaigns with their lists, which takes more than a schema. */
export function campaignReader(
  app: FastifyInstance,
  options: HttpOptions,
  memory: ListMemory,
): CampaignReader {
  const { volley, clock = systemClock } = options;
  return {
    schemaOf: ({ creates }) => ({
      ...(creates && { headers: idempotencyHeader }),
      body: campaignRequest.nullable(),
    }),
    async read({ creates }, request, reply) {
      const checks = { ...options, refusesPast: creates !== undefined };
      const input = await readCampaign(request as CampaignRequest, reply, checks, memory);
      if (creates === undefined) return input;
      const { 'idempotency-key': key } = request.headers;
      return {
        ...input,
        idempotencyKey: key === undefined ? undefined : String(key),
        async confirm() {
          // The list may have taken an hour to arrive.
          await requireActiveKey(volley, request);
          if (input.at !== undefined && input.at <= clock()) throw invalidMember('at', PAST);
          return true;
        },
      };
    },
    untilClosed: finishBeforeClose(app),
    refusal: (request, { detail }) => rejection(volley, apiKeyOf(request), detail, request.isMultipart()),
  };
}

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
  outcome: CampaignRefusal,
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
        `The idempotency key belongs to a campaign with another ${COMPARED}. Repeat the original request, or use another key.`,
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
