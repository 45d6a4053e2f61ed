import { editsBetween } from '../campaign/nearest.js';

/**
 * The known name that `name` was probably meant to be: at most two slips of a key away (one in a name of under ten
 * letters). A known name with something appended (`API_KEY_ACME`) is taken for a name of its own.
 */
export function lookAlike(name: string, known: readonly string[]): string | undefined {
  if (known.includes(name) || known.some((candidate) => name.startsWith(candidate))) return undefined;
  const nearest = known
    .map((candidate) => ({ candidate, slips: editsBetween(name, candidate) }))
    .filter(({ candidate, slips }) => slips <= (candidate.length < 10 ? 1 : 2))
    .sort((a, b) => a.slips - b.slips);
  return nearest[0]?.candidate;
}
