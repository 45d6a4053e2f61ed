import { z } from 'zod';
import { type Actor, actor } from './actor.js';

/** A change of a suppression list. Each suppressed number points to the operation that added it. */
export interface SuppressionOperation {
  readonly id: string;
  readonly change: 'add' | 'remove';
  /** The lane whose list was changed; null: the list for all lanes. */
  readonly lane: string | null;
  readonly createdAt: string;
  readonly actor: Actor;
  /** Where the numbers came from, such as `HTTP API` or the name of a file. */
  readonly source: string;
  /** Why, as the actor gave it. */
  readonly reason: string | null;
  /** Numbers that the list got, or lost. */
  readonly numberCount: number;
  /** When and by whom it was undone, and how many numbers that changed; null if it was not. */
  readonly undone: { readonly createdAt: string; readonly actor: Actor; readonly numberCount: number } | null;
}

/** See {@link SuppressionOperation}. */
export const suppressionOperation = z
  .object({
    id: z.string(),
    change: z.enum(['add', 'remove']),
    lane: z.string().nullable().describe('The lane whose list was changed; null: the list for all lanes'),
    createdAt: z.string().describe('ISO 8601, UTC'),
    actor,
    source: z.string().describe('Where the numbers came from, such as `HTTP API` or the name of a file'),
    reason: z.string().nullable().describe('Why, as the actor gave it'),
    numberCount: z.int().min(0).describe('Numbers that the list got, or lost'),
    undone: z
      .object({ createdAt: z.string(), actor, numberCount: z.int().min(0) })
      .readonly()
      .nullable()
      .describe('When and by whom it was undone, and how many numbers that changed; null if it was not'),
  })
  .readonly()
  .meta({ id: 'SuppressionOperation' });
