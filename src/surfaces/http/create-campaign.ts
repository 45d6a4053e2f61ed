import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import type { Volley } from '../../app/volley.js';
import { systemClock, within } from '../../base/clock.js';
import type { ApiKey } from '../../campaign/api-key.js';
import { asSentence } from '../../campaign/errors.js';
import type { Preview } from '../../campaign/preview-views.js';
import type { CampaignInput } from '../../intake/import/campaign-input.js';
import type { CampaignRefusal, Upload } from '../../operations/operation.js';
import type { Refused } from '../../operations/outcomes.js';
import { allowsCampaign, apiKeyOf, requireActiveKey } from './access.js';
import {
  campaignRequest,
  idempotencyHeader,
  PAST,
  type RequestedCampaign,
  readCampaign,
} from './campaign-request.js';
import type { ListMemory } from './list-memory.js';
import { invalidMember, Problem, type ProblemOptions } from './problem.js';
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
      const { expect, ...input } = await readCampaign(request as CampaignRequest, reply, checks, memory);
      // The schema of the route has validated the query.
      if (creates === undefined) return { ...input, ...Object(request.query) };
      const { 'idempotency-key': key } = request.headers;
      return {
        ...input,
        idempotencyKey: key === undefined ? undefined : String(key),
        isFirst: expect !== undefined,
        async confirm(preview) {
          const { sendAt } = preview;
          mustBeExpected(expect, preview);
          // The list may have taken an hour to arrive.
          await requireActiveKey(volley, request);
          if (sendAt !== null && Date.parse(sendAt) <= clock()) throw invalidMember('sendAt', PAST);
          return true;
        },
      };
    },
    untilClosed: finishBeforeClose(app),
    refusal: (request, { detail }) => rejection(volley, apiKeyOf(request), detail),
  };
}

/** Throws if a campaign would not be what its preview said. */
function mustBeExpected(expected: RequestedCampaign['expect'], preview: Preview): void {
  const actual = { digest: preview.digest, recipientCount: preview.recipientCount };
  if (expected === undefined || isDeepStrictEqual(actual, { ...expected })) return;
  const what =
    actual.recipientCount === expected.recipientCount
      ? 'The list, the text, or a setting is not that of the preview.'
      : `The campaign would have ${counted(actual.recipientCount)}, and the preview said ${counted(expected.recipientCount)}.`;
  throw new Problem('unexpected', `${what} Nothing was sent. Preview it again`, {
    members: { expected, actual },
  });
}

const counted = (recipients: number): string =>
  `${recipients.toLocaleString('en')} ${recipients === 1 ? 'recipient' : 'recipients'}`;

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
async function rejection(volley: Volley, key: ApiKey, outcome: CampaignRefusal): Promise<Problem> {
  /** Names the existing campaign if the key may see it. */
  const existing = async (id: string) => ((await allowsCampaign(volley, key, id)) ? { campaign: id } : {});
  switch (outcome.code) {
    case 'invalidRows': {
      const { invalid, rows } = outcome.preview;
      return refused(outcome, invalidRowsFix(outcome.preview), { invalid, rows });
    }
    case 'differentTexts':
      return refused(
        outcome,
        'Set `duplicates` to `keep` to send both messages, or to `first` to send only the first to each number',
        { differentTexts: outcome.preview.differentTexts },
      );
    case 'noPrice':
      return refused(outcome, 'Leave out the numbers without a price, or leave out `maxCost`', {
        unpriced: outcome.preview.cost?.unpriced,
      });
    case 'overBudget': {
      const { total, maxCost, currency } = outcome.preview.cost ?? {};
      return refused(outcome, 'Raise `maxCost`, or shorten the list or the text', {
        total,
        maxCost,
        currency,
      });
    }
    case 'repeated':
      return refused(outcome, 'To send it once more, set `again`', await existing(outcome.campaign));
    case 'conflict':
      return refused(
        outcome,
        'Repeat the original request, or use another key',
        await existing(outcome.campaign),
      );
    case 'declined':
      return new Problem('failed', 'The campaign was not created.');
    default:
      return outcome satisfies never;
  }
}

/** `fix`: what a client of this API can do about it. */
function refused(
  { code, message, errors }: Exclude<CampaignRefusal, { code: 'declined' }>,
  fix: string,
  members: NonNullable<ProblemOptions['members']>,
): Problem {
  return new Problem(code, `${asSentence(message)} Nothing was sent. ${fix}`, { errors, members });
}

function countryFix({ country, countryColumn }: Preview['invalidGroups'][number]): string {
  if (countryColumn !== null) return `Set \`countryColumn\` to ${JSON.stringify(countryColumn)}`;
  return `Set \`country\`${country === null ? '' : ` to \`${country}\``}`;
}

function invalidRowsFix({ invalid, rows, invalidGroups }: Preview): string {
  const national = invalidGroups.find(({ code }) => code === 'noCountry');
  const fix =
    national === undefined
      ? 'Fix them'
      : `${countryFix(national)}${national.count === invalid ? '' : ', and fix the others'}`;
  return invalid === rows ? fix : `${fix}, or set \`skipInvalid\` to leave them out`;
}
