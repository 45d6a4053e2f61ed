/*
 * Money is exact: an amount is a whole number of millionths (micros), and never a fraction that a float rounds.
 *
 *   total = Σ over the recipients who get a message: segments of the message × price of the number
 *
 * The price of a number is that of the longest prefix that it begins with.
 */

const MICROS = 1_000_000n;
/** Higher prices are mistakes; with this limit, the cost of one message is a safe integer. */
const MAX_PRICE = 1_000_000n * MICROS;
const EXAMPLE = '0.042 EUR';

/** The price of one segment. */
export interface Price {
  readonly micros: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** What segments cost. */
export interface PriceList {
  /** The same for all prices, because a total has one currency. */
  readonly currency: string;
  /** In micros, for numbers without a prefix of their own; undefined: they have no price. */
  readonly standard: number | undefined;
  /** In micros, by the first digits of a number, without a plus. */
  readonly prefixes: ReadonlyMap<string, number>;
}

/** An amount such as `50` or `0.042`, in micros; undefined if it is not one, or has more than six decimals. */
export function parseAmount(text: string): bigint | undefined {
  const [, whole, decimals = ''] = /^(\d{1,24})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(whole) * MICROS + BigInt(decimals.padEnd(6, '0'));
}

/** A price such as `0.042 EUR`. If the text is none, what it must be: completes a sentence that begins with "The price". */
export function parsePrice(text: string): Price | string {
  const [, amount = '', rest = ''] = /^([\d.,]+)(.*)$/.exec(text.trim()) ?? [];
  if (amount === '') return `must be an amount and a currency, such as ${EXAMPLE}`;
  if (amount.includes(',')) return `must have a decimal point and no comma, such as ${EXAMPLE}`;
  if (/\.\d{7,}$/.test(amount)) return 'must have at most six decimals';
  const micros = parseAmount(amount);
  if (micros === undefined) return `must be an amount and a currency, such as ${EXAMPLE}`;
  if (micros > MAX_PRICE) return 'must be at most 1000000';
  const currency = rest.trim().toUpperCase();
  if (!isCurrency(currency)) return `must name its currency (ISO 4217), such as ${EXAMPLE}`;
  return { micros: Number(micros), currency };
}

/** The limit of a campaign's cost, such as `50` or `50 EUR`, in micros. If it is none, what it must be. */
export function parseLimit(text: string, currency: string): bigint | string {
  const [, amount = '', own = currency] = /^(\S*)(?:\s+(\S+))?$/.exec(text.trim()) ?? [];
  const micros = parseAmount(amount);
  if (micros === undefined)
    return `must be an amount with at most six decimals, such as 50 or 50 ${currency}`;
  return own.toUpperCase() === currency ? micros : `must be in ${currency}, the currency of the prices`;
}

function isCurrency(code: string): boolean {
  return Intl.supportedValuesOf('currency').includes(code);
}

const decimalsOf = new Map<string, number>();

/** An exact amount with the decimals that its currency has, or more if it needs them: `47.04`, `0.042`. */
export function formatAmount(micros: bigint | number, currency: string): string {
  let least = decimalsOf.get(currency);
  if (least === undefined) {
    const { minimumFractionDigits } = new Intl.NumberFormat('en', {
      style: 'currency',
      currency,
    }).resolvedOptions();
    least = minimumFractionDigits ?? 2;
    decimalsOf.set(currency, least);
  }
  const exact = BigInt(micros);
  const decimals = String(exact % MICROS)
    .padStart(6, '0')
    .replace(/0+$/, '')
    .padEnd(least, '0');
  return `${exact / MICROS}${decimals === '' ? '' : `.${decimals}`}`;
}

/** Returns a function that finds the price of an E.164 number with its plus, in micros; undefined if it has none. */
export function priceFinder({ prefixes, standard }: PriceList): (number: string) => number | undefined {
  const lengths = [...new Set([...prefixes.keys()].map(({ length }) => length))].sort((a, b) => b - a);
  return (number) => {
    for (const length of lengths) {
      const micros = prefixes.get(number.slice(1, length + 1));
      if (micros !== undefined) return micros;
    }
    return standard;
  };
}

/** Adds up what messages cost. */
export function costMeter(prices: PriceList) {
  const priceOf = priceFinder(prices);
  // Segments by price: whole numbers, so the sum is exact however many messages there are.
  const segmentsAt = new Map<number, number>();
  return {
    /** Adds a message, and returns its cost in micros; undefined if its number has no price. */
    add(number: string, segments: number): number | undefined {
      const price = priceOf(number);
      if (price === undefined) return undefined;
      segmentsAt.set(price, (segmentsAt.get(price) ?? 0) + segments);
      return price * segments;
    },
    /** The cost of all messages with a price, in micros. */
    total: (): bigint =>
      [...segmentsAt].reduce((sum, [price, segments]) => sum + BigInt(price) * BigInt(segments), 0n),
    /** The lowest and the highest price of a segment, in micros; null if no message has a price. */
    range(): { readonly min: number; readonly max: number } | null {
      const all = [...segmentsAt.keys()];
      return all.length === 0 ? null : { min: Math.min(...all), max: Math.max(...all) };
    },
  };
}
