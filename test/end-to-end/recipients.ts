/** Consecutive Swedish mobile numbers that libphonenumber accepts as valid. */
export function* recipients(count: number, from = 0): Generator<{ to: string }> {
  for (let at = from; at < from + count; at++) yield { to: `+4670${String(at).padStart(7, '0')}` };
}
