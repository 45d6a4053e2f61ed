/** What a reply asks for: no more messages, or messages again. */
export type Wish = 'stop' | 'start';

/** The words that ask for something, as people write them. */
export interface WishWords {
  readonly stopWords: readonly string[];
  readonly startWords: readonly string[];
}

/**
 * Reads what replies ask for: only one that consists of such a word asks for something, so that "please don't stop" does not. Case,
 * accents, and the punctuation and spaces around a word do not matter. A word of both lists asks to stop.
 */
export function wishReader({ stopWords, startWords }: WishWords): (text: string) => Wish | null {
  const wishes = new Map<string, Wish>([
    ...startWords.map((word) => [plain(word), 'start'] as const),
    ...stopWords.map((word) => [plain(word), 'stop'] as const),
  ]);
  return (text) => (text.length > MAX_LENGTH ? null : (wishes.get(plain(text)) ?? null));
}

/** A longer text is no word. Normalising it would cost time that a flood of replies does not have. */
const MAX_LENGTH = 200;

/** `« Arrêt ! »` → `arret`, `OPT-OUT` → `opt out`. Also without characters that no phone shows. */
function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
    .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
    .replace(/[\s\p{Pd}]+/gu, ' ');
}
