import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { systemClock } from '../../../base/clock.js';
import type { ErrorItem } from '../../../campaign/errors/error-codes.js';
import { InputError, NoSuchLaneError } from '../../../campaign/errors/errors.js';
import { FIELDS } from '../../../campaign/fields/fields.js';
import { MISSING, plainMessage } from '../../../campaign/fields/input.js';
import {
  type CampaignInput,
  checkCampaign,
  localZone,
  startOf,
} from '../../../intake/import/campaign-input.js';
import { laneMeant } from '../../../operations/access.js';
import { fieldsIn, membersOf, OF_FILES, shapeOf } from '../../../operations/schemas/campaign-members.js';
import { columnsOf, recipient, rowsOf } from '../../../operations/schemas/recipient-rows.js';
import { callerOf } from '../access/access.js';
import type { ListMemory } from '../limits/list-memory.js';
import type { HttpOptions } from '../route.js';
import { abortOnClose } from '../server/connections.js';
import { invalidParts, itemOf, Problem } from '../server/problem.js';
import { noSuchLane, schemaItems } from './error-to-problem.js';
import { reservation } from './request-body.js';
import { readUpload } from './upload.js';

/*
 * A campaign as a client requests it, and its translation into the input of the library. The members have the names of the
 * command line's options.
 */

/** The members that describe a campaign, besides its list. */
export const details = membersOf('preview');

/** What a client has seen in a preview. */
const expected = z
  .strictObject({
    digest: z.string().max(100).describe('`digest` of the preview'),
    recipientCount: z.int().min(0),
  })
  .optional()
  .describe(
    'What a preview of this request has returned. If the campaign would differ from it, it is not created (`unexpected`). Nor is it if someone has sent the same since (`repeated`), unless `again` is set. A preview ignores it.',
  );

/** A campaign with its recipients: `application/json`. */
export const campaignRequest = z
  .strictObject({
    recipients: z.array(recipient).min(1).optional().describe('Required, unless there is `toResultsOf`'),
    ...details,
    expect: expected,
  })
  .meta({
    id: 'CampaignRequest',
    examples: [
      {
        sender: 'ACME',
        message: 'Hi {{name}}, your table is ready.',
        recipients: [{ to: '+447700900123', name: 'Ada', reference: 'order-17' }],
      },
    ],
  });

const { toResultsOf: _results, ...listed } = details;

/** A campaign whose recipients follow as CSV: the part `campaign` of `multipart/form-data`. */
export const campaignDetails = z
  .strictObject({ ...listed, ...shapeOf(OF_FILES), expect: expected })
  .meta({ id: 'CampaignDetails' });

type CampaignDetails = z.output<typeof campaignDetails>;

/** A campaign as a client requests it, and what its preview has returned. */
export type RequestedCampaign = CampaignInput & Pick<CampaignDetails, 'expect'>;

/** The header with which a client may repeat a request. */
export const idempotencyHeader = z.looseObject({
  'idempotency-key': z
    .string()
    .min(1)
    .max(FIELDS.idempotencyKey.longest)
    .optional()
    .describe(FIELDS.idempotencyKey.description),
});

/** A request that creates or previews a campaign. */
type CampaignRequest = FastifyRequest<{ Body: z.output<typeof campaignRequest> | null }>;

/** What of a campaign is checked besides its schema. */
interface Checks extends HttpOptions {
  /** Whether a start in the past is an error. */
  readonly refusesPast: boolean;
}

/**
 * Reads the requested campaign: all of it from JSON, or from a form as far as its list. The route attaches the result of its
 * validation to the request, so that one response lists everything that is invalid.
 */
export async function readCampaign(
  request: CampaignRequest,
  reply: FastifyReply,
  checks: Checks,
  memory: ListMemory,
): Promise<RequestedCampaign> {
  const signal = abortOnClose(request, reply);
  const invalid = attachedItems(request);
  if (request.isMultipart()) {
    if (invalid.length > 0) throw invalidParts(invalid);
    const onMemory = reservation(request, reply, memory);
    await onMemory(0);
    const parse = (json: unknown): CampaignDetails => {
      const { data, error } = campaignDetails.safeParse(json, { error: plainMessage });
      const items = invalidItems(request, json, error === undefined ? [] : schemaItems(error), checks);
      if (data === undefined || items.length > 0) throw invalidParts(items);
      return data;
    };
    const { campaign, list } = await readUpload(request, parse, checks.config.http.maxUploadBytes);
    return { ...inputOf(request, campaign, checks), recipients: list, onMemory, signal };
  }
  if (request.body === null && invalid.length === 0)
    throw new Problem('badInput', 'The body is empty. Send a campaign.');
  const items = invalidItems(request, request.body, [...listItems(request.body), ...invalid], checks);
  if (request.body === null || items.length > 0) throw invalidParts(items);
  const { recipients, ...campaign } = request.body;
  return {
    ...inputOf(request, campaign, checks),
    ...(recipients && { recipients: rowsOf(recipients, await columnsOf(recipients)) }),
    signal,
  };
}

/** What is wrong if a campaign has no list, or two. */
function listItems(body: unknown): ErrorItem[] {
  const [list, results] = ['recipients', 'toResultsOf'].map((name) => Object.hasOwn(Object(body), name));
  if (list !== results || Array.isArray(body)) return [];
  return list
    ? [itemOf('/toResultsOf', 'Leave it out, or leave out `recipients`: a campaign has one list')]
    : [itemOf('/recipients', MISSING, 'missing')];
}

/** What the validation of the route found. It stops at the body, so the header is validated here. */
function attachedItems(request: CampaignRequest): ErrorItem[] {
  const error: unknown = request.validationError;
  if (error === undefined) return [];
  if (!(error instanceof z.ZodError)) throw error;
  const headers = idempotencyHeader.safeParse(request.headers, { error: plainMessage }).error;
  const ofHeaders =
    headers === undefined ? [] : schemaItems(Object.assign(headers, { validationContext: 'headers' }));
  return [...schemaItems(error), ...ofHeaders];
}

/** The first item for each part; those of the list come last, because there may be many. */
function onePerPart(items: readonly ErrorItem[]): ErrorItem[] {
  const first = [...new Map(items.toReversed().map((item) => [item.pointer, item])).values()].reverse();
  const isOfList = ({ pointer }: ErrorItem): boolean => pointer?.startsWith('/recipients/') === true;
  return [...first.filter((item) => !isOfList(item)), ...first.filter(isOfList)];
}

/**
 * What is wrong with a campaign, if anything is wrong with it that the library does not check: its members do not match the schema, it
 * starts in the past, or the key may not choose its lane. One response then also lists what the library would refuse in the members that
 * match.
 */
function invalidItems(
  request: CampaignRequest,
  body: unknown,
  ofSchema: readonly ErrorItem[],
  { config, clock = systemClock, refusesPast }: Checks,
): ErrorItem[] {
  const sound = Object.fromEntries(
    Object.entries(Object(body)).filter(
      ([name, given]) =>
        Object.hasOwn(details, name) && details[name as keyof typeof details].safeParse(given).success,
    ),
  ) as Partial<CampaignDetails>;
  const { lane: _lane, ...fields } = fieldsIn('preview', sound);
  const items = ofSchema.map((item) =>
    item.pointer === '/idempotencyKey'
      ? { ...item, message: 'Send it as the header `Idempotency-Key`.' }
      : item,
  );
  const hasText = ['message', 'template'].some((name) => Object.hasOwn(Object(body), name));
  if (!hasText && !items.some(({ pointer }) => pointer === ''))
    items.push(itemOf('/message', MISSING, 'missing'));
  // A retry may arrive after the start time and still receives the existing campaign.
  const isRetry = request.headers['idempotency-key'] !== undefined;
  const caller = callerOf(request, config);
  let lane: string | undefined;
  let noLane: NoSuchLaneError | undefined;
  try {
    lane = laneMeant(caller, sound.lane);
  } catch (error) {
    if (error instanceof NoSuchLaneError) noLane = error;
    else if (error instanceof InputError) items.push(...error.errors);
    else throw error;
  }
  const start = startOf(fields.sendAt, localZone(config, { zone: fields.zone, lane }));
  if (refusesPast && !isRetry && start.ok && start.at !== undefined && start.at <= clock())
    items.push(itemOf('/sendAt', PAST));
  if (items.length === 0 && noLane === undefined) return [];
  try {
    checkCampaign(
      config,
      { ...fields, message: fields.message ?? '-', toResultsOf: undefined, lane, recipients: [] },
      clock(),
    );
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    items.push(...error.errors);
  }
  if (noLane === undefined) return onePerPart(items);
  // As on every other route, if nothing else is wrong.
  const { message } = noSuchLane(noLane, caller.key);
  if (items.length === 0) throw noLane;
  return onePerPart([...items, itemOf('/lane', message, 'notFound')]);
}

/** The message about a start in the past. */
export const PAST = 'The time is in the past. Leave it out to start sending now';

function inputOf(
  request: CampaignRequest,
  campaign: CampaignDetails,
  { config }: Checks,
): Omit<RequestedCampaign, 'recipients'> {
  const lane = laneMeant(callerOf(request, config), campaign.lane);
  // A program says which column it means.
  return { ...fieldsIn('preview', campaign), findsCountries: false, lane, expect: campaign.expect };
}
