import type { StatusWord } from '../../campaign/states/recipient.js';

/** The service's own word for the status of a recipient as the scripts take it: the place in its batch, from 0, and `code,word`. */
export type PlacedWord = readonly [place: number, stored: string];

/** The form that Redis stores: `code,word`. The code has no comma. */
export function storedWord({ word, code }: StatusWord): string {
  return `${code},${word}`;
}

/** Reads what {@link storedWord} wrote. */
export function parseStatusWord(stored: string): StatusWord {
  const [code = '', ...word] = stored.split(',');
  return { word: word.join(','), code };
}

/** The words for the recipients of a batch; undefined if there are none, as for most batches. `wordAt`: by place. */
export function placedWords(
  count: number,
  wordAt: (place: number) => string | undefined,
): readonly PlacedWord[] | undefined {
  const placed: PlacedWord[] = [];
  for (let place = 0; place < count; place += 1) {
    const word = wordAt(place);
    if (word !== undefined) placed.push([place, word]);
  }
  return placed.length === 0 ? undefined : placed;
}
