/** The names that `name` may mean: the one that is exactly the same, or else all that differ in case alone. */
export function namesMeant(name: string, names: readonly string[]): readonly string[] {
  if (names.includes(name)) return [name];
  return names.filter((each) => each.toLowerCase() === name.toLowerCase());
}

/** The one of `names` that `name` most likely was meant to be, or null if none of them is similar. */
export function nearest(name: string, names: readonly string[]): string | null {
  const maxEdits = Math.max(1, Math.floor(name.length / 3));
  let best: string | null = null;
  let fewest = maxEdits + 1;
  // One of a very different length has more edits: to count them would take long for a long name.
  for (const candidate of names.filter(({ length }) => Math.abs(length - name.length) <= maxEdits)) {
    const edits = editsBetween(name.toLowerCase(), candidate.toLowerCase());
    if (edits < fewest) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** The edit distance: how many characters must be inserted, deleted, changed, or swapped with their neighbour. */
export function editsBetween(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}

/** Lists names in a message: `"phone", "name"`. */
export function quotedList(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(', ');
}
