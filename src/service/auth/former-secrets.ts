import { InputError } from '../../campaign/errors/errors.js';

/** Secrets that may work beside the current one, after rotations. */
const MOST = 10;

/**
 * The secrets of `whose` after a rotation, the newest first, with when each ends, ms. The current one works for `overlapMs` more. Those before
 * it keep their ends, because a rotation whose response was lost is repeated; without an overlap, all of them end at once. Throws an
 * InputError if too many would work.
 */
export function formerSecrets<Secret extends { readonly until: number | null }>(
  whose: string,
  secrets: readonly Secret[],
  now: number,
  overlapMs: number,
): (Secret & { readonly until: number })[] {
  const never = Number.POSITIVE_INFINITY;
  const ending = secrets.map((one, at) => {
    const end = at === 0 || overlapMs === 0 ? now + overlapMs : never;
    return { ...one, until: Math.min(one.until ?? never, end) };
  });
  if (ending.filter(({ until }) => until > now).length <= MOST) return ending;
  throw new InputError(
    `${whose} has ${MOST} former secrets that work: set \`overlap\` to 0s, which ends all of them, or wait until one has ended`,
    { field: 'overlap' },
  );
}
