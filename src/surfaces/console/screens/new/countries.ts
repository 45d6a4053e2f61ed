const names = new Intl.DisplayNames('en', { type: 'region' });

/** `United Kingdom` for GB. */
export function countryName(code: string): string {
  try {
    return names.of(code) ?? code;
  } catch {
    return code;
  }
}
