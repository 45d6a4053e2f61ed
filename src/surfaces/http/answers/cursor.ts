import { z } from 'zod';
import type { PositionKind, Volley } from '../../../app/volley.js';
import { invalidParts, itemOf } from '../server/problem.js';

/*
 * The cursor of a list. What it stands for may belong to a lane that the key may not use, so clients see only a token.
 */

/** The query parameter. */
export const cursor = z.string().max(300).optional().describe('The `nextCursor` of the previous page');

/** The member of a page. */
export const nextCursor = z
  .string()
  .nullable()
  .describe('The `cursor` of the next page, which is valid for this list only; null on the last page');

/** The position after which the requested page begins. Throws for a cursor that this server did not return. */
export async function positionOf(
  { positions }: Pick<Volley, 'positions'>,
  kind: PositionKind,
  token: string | undefined,
): Promise<string | undefined> {
  if (token === undefined) return undefined;
  const position = await positions.reveal(kind, token);
  if (position !== null) return position;
  throw invalidParts([itemOf('query/cursor', 'Use the `nextCursor` of an earlier page')]);
}

/** The cursor after a page; null for the last page. */
export async function cursorOf(
  { positions }: Pick<Volley, 'positions'>,
  kind: PositionKind,
  next: string | null,
): Promise<string | null> {
  return next === null ? null : positions.conceal(kind, next);
}
