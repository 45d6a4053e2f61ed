import type { Volley } from '../../../app/volley.js';
import { NotFoundError } from '../../../campaign/errors/errors.js';
import { LAST } from './campaign-id.js';

/** The id of a change of the suppression lists. Ids are numbers that get longer, so the beginning of one names no other. */
export async function suppressionId({ suppression }: Volley, typed: string): Promise<string> {
  if (typed.trim().toLowerCase() !== LAST) return typed.trim();
  const { operations: newest } = await suppression.operations({});
  const id = newest.find(({ undone }) => undone === null)?.id;
  if (id === undefined) throw new NotFoundError('there is no change of the suppression lists to undo');
  return id;
}
