import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { NotFoundError } from '../campaign/errors.js';
import type { Volley } from '../volley.js';
import { keyOf, maySee } from './access.js';
import { Problem } from './problem.js';

/** The campaign that a path names. */
export const campaignId = z.strictObject({ id: z.string().min(1).max(40) });

/** Throws for a campaign that is not there, and in the same words for one on a lane that the key may not see. */
export async function mustSeeCampaign(volley: Volley, request: FastifyRequest, id: string): Promise<void> {
  const lane = await laneOrNone(volley, id);
  if (lane !== null && maySee(keyOf(request), lane)) return;
  throw new Problem('notFound', `there is no campaign ${id}`);
}

/** The lane of a campaign, null if it is not there. */
export async function laneOrNone(volley: Volley, id: string): Promise<string | null> {
  try {
    return await volley.laneOf(id);
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
