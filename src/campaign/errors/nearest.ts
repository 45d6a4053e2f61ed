/** The names that `name` may mean: the one that is exactly the same, or else all that look the same in one case. */
export function namesMeant(name: string, names: readonly string[]): readonly string[] {
  if (names.includes(name)) return [name];
  const wanted = seen(name);
  return names.filter((each) => seen(each) === wanted);
}

/** What does not show: marks without width, and more than one space. */
const UNSEEN = /\p{Cf}|(?<=\s)\s+/gu;
/** A name as people see it, whatever form its accents have, and whether its spaces break. */
const seen = (name: string): string => name.normalize('NFKC').toLowerCase().replace(UNSEEN, '');

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

/** Names in a message: a file may have thousands of columns. */
const MAX_LISTED = 50;

/** Lists names in a message: `"phone", "name"`. */
export function quotedList(names: readonly string[]): string {
  const shown = (name: string) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);
  const list = names.slice(0, MAX_LISTED).map((name) => JSON.stringify(shown(name)));
  const more = names.length - list.length;
  return `${list.join(', ')}${more > 0 ? `, and ${more.toLocaleString('en')} more` : ''}`;
}
