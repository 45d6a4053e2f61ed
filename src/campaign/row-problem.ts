/**
 * What is wrong with a row of a list, with its place: `line 12, column "phone" is empty`, `line 16 has 4 fields, …`, or
 * `line 3, column "phone": "abc" is not a phone number`, where the reason quotes what it is about.
 */
export function rowProblem(line: number | string, column: string | null, reason: string): string {
  const place = `line ${line}${column === null ? '' : `, column ${JSON.stringify(column)}`}`;
  return /^[a-z`]/.test(reason) ? `${place} ${reason}` : `${place}: ${reason}`;
}
