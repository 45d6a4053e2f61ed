/** Counts what is under way, by whose it is. */
export interface AtOnce {
  of(whose: string): number;
  /** One more; what it returns is called once, when it is over. */
  begin(whose: string): () => void;
}

/** Begins to count; see {@link AtOnce}. */
export function countAtOnce(): AtOnce {
  const counts = new Map<string, number>();
  const of = (whose: string): number => counts.get(whose) ?? 0;
  return {
    of,
    begin(whose) {
      counts.set(whose, of(whose) + 1);
      return () => {
        const left = of(whose) - 1;
        if (left > 0) counts.set(whose, left);
        else counts.delete(whose);
      };
    },
  };
}
