/** Swedish mobile numbers, one after the other: valid to libphonenumber, and as many as a test may want. */
export function* recipients(count: number, from = 0): Generator<{ to: string }> {
  for (let at = from; at < from + count; at++) yield { to: `+4670${String(at).padStart(7, '0')}` };
}
