/** Names that a message lists before it only counts the others. */
const LISTED = 10;

/** A list for people: a few names, or the first ones and how many more there are. */
export function listed(names: readonly string[], conjunction: 'and' | 'or' = 'and'): string {
  const shown = names.slice(0, LISTED);
  const more = names.length - shown.length;
  const parts = more > 0 ? [...shown, `${more} more`] : shown;
  const word = more > 0 ? 'and' : conjunction;
  if (parts.length < 3) return parts.join(` ${word} `);
  return `${parts.slice(0, -1).join(', ')}, ${word} ${parts.at(-1)}`;
}
