/** What a reply asks for: no more messages, or messages again. */
export type Wish = 'stop' | 'start';

/** The words that ask for something, as people write them. */
export interface WishWords {
  readonly stopWords: readonly string[];
  readonly startWords: readonly string[];
}

/**
 * Reads what replies ask for: only one that consists of such a word asks for something, so that "please don't stop" does not. Case,
 * accents, spaces, and punctuation do not matter, neither around a word nor in it. A word of both lists asks to stop.
 */
export function wishReader({ stopWords, startWords }: WishWords): (text: string) => Wish | null {
  const wishes = new Map<string, Wish>([
    ...startWords.map((word) => [plain(word), 'start'] as const),
    ...stopWords.map((word) => [plain(word), 'stop'] as const),
  ]);
  return (text) => (text.trim().length > MAX_LENGTH ? null : (wishes.get(plain(text)) ?? null));
}

/** A longer text is no word. Normalising it would cost time that a flood of replies does not have. */
const MAX_LENGTH = 200;

/** Letters and digits alone: `« Arrêt ! »` → `arret`, `OPT-OUT` → `optout`. */
const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();
