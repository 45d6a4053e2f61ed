import { countAtOnce } from '../counter.js';
import { Problem } from '../problem.js';

/** The streams that a process has at once. */
export interface StreamPlaces {
  /**
   * A place for one more stream of a key, which `over` ends; what it returns is called once, when it is over. Throws a
   * Problem, `unavailable`, when there is none, or the app closes.
   */
  take(key: string, over: AbortController): () => void;
  /** Ends all of them; there are no more. */
  close(): void;
}

/** `most` streams, and of each key no more than leaves some for every other. */
export function streamPlaces(most: number): StreamPlaces {
  const taken = new Set<AbortController>();
  const streams = countAtOnce();
  let isClosing = false;
  return {
    take(key, over) {
      // It was let in before; nobody would end it any more.
      if (isClosing) throw new Problem('unavailable', 'this process is ending; ask again');
      // Half of what is left, so that there is some for every other key.
      if (streams.of(key) >= most - taken.size) {
        throw new Problem(
          'unavailable',
          `there are ${taken.size} streams, ${streams.of(key)} of this key; ask another process, or later`,
        );
      }
      taken.add(over);
      const endOfOne = streams.begin(key);
      return () => {
        taken.delete(over);
        endOfOne();
      };
    },
    close() {
      isClosing = true;
      for (const over of taken) over.abort();
    },
  };
}
