import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { CampaignInput } from '../import/campaign-input.js';
import { keyOf, maySee, mustSee } from './access.js';
import { type CampaignOrder, type campaignRequest, inputOf } from './campaign-request.js';
import { rowsOfJson } from './json-rows.js';
import { whileAsked } from './on-close.js';
import { Problem } from './problem.js';
import type { HttpOptions } from './routes.js';
import { readUpload } from './upload.js';

type Request = FastifyRequest<{ Body: z.output<typeof campaignRequest> | null }>;

/** Reads the campaign that is asked for: from JSON, or from a form as far as its list. */
export async function campaignAsked(
  request: Request,
  reply: FastifyReply,
  { config }: HttpOptions,
): Promise<CampaignInput> {
  const signal = whileAsked(request, reply);
  if (request.isMultipart()) {
    const { order, recipients } = await readUpload(request, config.http.maxUploadBytes);
    mustHaveSender(order, config);
    return { ...inputOf(onLane(request, order, config), recipients), signal };
  }
  if (request.body === null) throw new Problem('badInput', 'the body is empty: send a campaign');
  const { recipients, ...order } = request.body;
  mustHaveSender(order, config);
  return { ...inputOf(onLane(request, order, config), rowsOfJson(recipients)), signal };
}

/** With the lane that is meant, which is one that the key may use. */
function onLane(request: Request, order: CampaignOrder, { lanes }: HttpOptions['config']): CampaignOrder {
  const key = keyOf(request);
  // A lane that a key was made for may be gone; those that it was not made for are none of its business.
  const names = lanes.map(({ name }) => name).filter((name) => maySee(key, name));
  if (order.lane === undefined) {
    const [only] = names;
    if (key.lanes === null) return order;
    if (only !== undefined && names.length === 1) return { ...order, lane: only };
    if (only === undefined) throw noLane('the lanes of this key are not there any more');
    throw noLane(`name one: this key may use ${names.join(', ')}`);
  }
  mustSee(key, order.lane);
  if (!names.includes(order.lane)) {
    throw noLane(`there is no lane ${order.lane}; there are: ${names.join(', ')}`);
  }
  return order;
}

/** The library says so too, in the words of the command line. */
function mustHaveSender({ sender }: CampaignOrder, { senderAddress }: HttpOptions['config']): void {
  if (sender !== undefined || senderAddress !== undefined) return;
  const message =
    'is missing, and there is no default (SENDER_ADDRESS): give a number, or a name of up to 11 letters';
  throw new Problem('badInput', `/sender: ${message}`, { errors: [{ pointer: '/sender', message }] });
}

function noLane(message: string): Problem {
  return new Problem('badInput', `lane: ${message}`, { errors: [{ pointer: '/lane', message }] });
}
