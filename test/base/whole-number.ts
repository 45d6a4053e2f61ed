/** The value of an option of a command; throws if it is no whole number, or less than `min`. */
export function wholeNumber(option: string, text: string, min: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min) return value;
  throw new RangeError(`--${option} must be a whole number of at least ${min}, not ${JSON.stringify(text)}`);
}
