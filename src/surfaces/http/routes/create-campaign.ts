import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { systemClock, within } from '../../../base/clock.js';
import { counted } from '../../../base/counted.js';
import type { Preview } from '../../../campaign/views/preview-views.js';
import type { CampaignInput } from '../../../intake/import/campaign-input.js';
import type { Upload } from '../../../operations/operation.js';
import { requireActiveKey } from '../access/access.js';
import {
  campaignRequest,
  idempotencyHeader,
  PAST,
  type RequestedCampaign,
  readCampaign,
} from '../bodies/campaign-request.js';
import type { ListMemory } from '../limits/list-memory.js';
import type { HttpOptions } from '../route.js';
import { invalidMember, Problem } from '../server/problem.js';

/** A request whose schema is that of campaigns. */
type CampaignRequest = Parameters<typeof readCampaign>[0];

/** What the routes of uploads need besides their operations. */
export interface CampaignReader {
  /** What the OpenAPI document says about the request. */
  schemaOf(operation: Upload): FastifySchema;
  read(operation: Upload, request: FastifyRequest, reply: FastifyReply): Promise<CampaignInput>;
  /** Makes an app that closes wait for this. Returns the promise. */
  untilClosed<Result>(work: Promise<Result>): Promise<Result>;
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
  };
}

/** Throws if a campaign would not be what its preview said. */
function mustBeExpected(expected: RequestedCampaign['expect'], preview: Preview): void {
  const actual = { digest: preview.digest, recipientCount: preview.recipientCount };
  if (expected === undefined || isDeepStrictEqual(actual, { ...expected })) return;
  const what =
    actual.recipientCount === expected.recipientCount
      ? 'The list, the text, or a setting is not that of the preview.'
      : `The campaign would have ${counted(actual.recipientCount, 'recipient')}, and the preview said ${counted(expected.recipientCount, 'recipient')}.`;
  throw new Problem('unexpected', `${what} Nothing was sent. Preview it again`, {
    members: { expected, actual },
  });
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
