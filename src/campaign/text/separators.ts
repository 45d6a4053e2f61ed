/** A separator of the cells of a CSV file, as people name it and as the file has it. */
export const SEPARATORS = { comma: ',', semicolon: ';', tab: '\t' } as const;
/** See {@link SEPARATORS}. */
export type Separator = keyof typeof SEPARATORS;

/** In these countries, lists have semicolons although numbers have a decimal point. */
const SEMICOLON_COUNTRIES = new Set(['CH', 'LI']);

/** The separator that Excel expects in the locale of a format of numbers: a semicolon where they have a decimal comma. */
export function separatorIn(format: Intl.NumberFormat): Separator {
  const { locale } = format.resolvedOptions();
  if (SEMICOLON_COUNTRIES.has(new Intl.Locale(locale).region ?? '')) return 'semicolon';
  const decimal = format.formatToParts(0.5).find(({ type }) => type === 'decimal');
  return decimal?.value === ',' ? 'semicolon' : 'comma';
}
