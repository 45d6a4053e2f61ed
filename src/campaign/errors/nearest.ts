/** The names that `name` may mean: the one that is exactly the same, or else all that differ in case alone. */
export function namesMeant(name: string, names: readonly string[]): readonly string[] {
  if (names.includes(name)) return [name];
  return names.filter((each) => each.toLowerCase() === name.toLowerCase());
}

/** The one of `names` that `name` most likely was meant to be, or null if none of them is similar. */
export function nearest(name: string, names: readonly string[]): string | null {
  const maxEdits = Math.max(1, Math.floor(name.length / 3));
  const [best] = names
    .filter(({ length }) => Math.abs(length - name.length) <= maxEdits)
    .map((candidate) => ({ candidate, edits: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ edits }) => edits <= maxEdits)
    .sort((one, other) => one.edits - other.edits);
  return best?.candidate ?? null;
}

/** Longer names are not compared, which would block the process, and messages show only their beginning. */
const MAX_NAME = 60;

/** The edit distance: how many characters must be inserted, deleted, changed, or swapped with their neighbour; Infinity for long names. */
export function editsBetween(from: string, to: string): number {
  if (Math.max(from.length, to.length) > MAX_NAME) return Number.POSITIVE_INFINITY;
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
  const shown = (name: string) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);
  return names.map((name) => JSON.stringify(shown(name))).join(', ');
}
