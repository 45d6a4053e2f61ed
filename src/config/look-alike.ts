/**
 * The known name that `name` was probably meant to be: at most two slips of a key away (one in a name of under ten
 * letters). A known name with something appended (`API_KEY_ACME`) is taken for a name of its own.
 */
export function lookAlike(name: string, known: readonly string[]): string | undefined {
  if (known.includes(name) || known.some((candidate) => name.startsWith(candidate))) return undefined;
  const nearest = known
    .map((candidate) => ({ candidate, slips: slipsBetween(name, candidate) }))
    .filter(({ candidate, slips }) => slips <= (candidate.length < 10 ? 1 : 2))
    .sort((a, b) => a.slips - b.slips);
  return nearest[0]?.candidate;
}

/** Letters to insert, delete, replace or swap with their neighbour to turn one text into the other. */
function slipsBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const at = (line: number[], index: number): number => line[index] ?? Number.POSITIVE_INFINITY;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
        swapped ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? Number.POSITIVE_INFINITY;
}
