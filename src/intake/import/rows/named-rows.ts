/** Rows that a warning names. */
const MAX_NAMED = 10;

/** Rows of one kind, for a warning: how many there are, and the first of them, by their lines, because warnings contain no phone numbers. */
export function namedRows(separator = ', ') {
  let count = 0;
  const named: string[] = [];
  return {
    add(name: string | number): void {
      count += 1;
      if (named.length < MAX_NAMED) named.push(String(name));
    },
    count: () => count,
    /** `line 7`, or `lines 7, 9, and 3 more`. */
    lines: () => `${count === 1 ? 'line' : 'lines'} ${text()}`,
    /** The names alone. */
    text,
  };

  function text(): string {
    const more = count - named.length;
    return `${named.join(separator)}${more > 0 ? `, and ${more.toLocaleString('en')} more` : ''}`;
  }
}

/** See {@link namedRows}. */
export type NamedRows = ReturnType<typeof namedRows>;
