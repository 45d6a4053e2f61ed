import { z } from 'zod';
import { count } from './measures.js';

/*
 * What changes of campaigns did, and what they replaced.
 */

/** What a campaign was sent with before it was changed. */
export interface EarlierContent {
  /** The last revision with it. */
  readonly revision: number;
  readonly sender: string;
  /** The text, with its placeholders. */
  readonly message: string;
}

/** See {@link EarlierContent}. */
export const earlierContent = z
  .object({ revision: count.describe('The last revision with it'), sender: z.string(), message: z.string() })
  .readonly();

/** What a change of a campaign does. */
export interface CampaignChange {
  readonly id: string;
  /** Of the campaign now. */
  readonly revision: number;
  /** The fields that differ; empty if nothing changes. */
  readonly changed: readonly string[];
  /** Recipients to whom nothing was sent yet, about. */
  readonly recipientCount: number;
  /** What the campaign costs then; null if no prices are configured. */
  readonly cost: { readonly total: string; readonly currency: string } | null;
}

/** See {@link CampaignChange}. */
export const campaignChange = z
  .object({
    id: z.string(),
    revision: count.describe('Of the campaign now'),
    changed: z.array(z.string()).readonly().describe('The fields that differ; empty if nothing changes'),
    recipientCount: count.describe('Recipients to whom nothing was sent yet, about'),
    cost: z
      .object({ total: z.string(), currency: z.string() })
      .readonly()
      .nullable()
      .describe('What the campaign costs then; null if no prices are configured'),
  })
  .readonly()
  .meta({ id: 'CampaignChange' });
