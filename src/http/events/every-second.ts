/** Asks about things that many want to know of: once a tick each, however many those are. */
export interface EverySecond<Answer> {
  /** Calls `hear` now and then at every tick, until what it returns is called. A tick without an answer is left out. */
  follow(id: string, hear: (answer: Answer) => void): () => void;
  close(): void;
}

interface Followed<Answer> {
  readonly hearers: Set<(answer: Answer) => void>;
  asking: Promise<void> | null;
}

/** Begins with nobody who follows; `ask` is called once a tick for each thing that is followed. */
export function everySecond<Answer>(
  ask: (id: string) => Promise<Answer>,
  everyMs = 1_000,
): EverySecond<Answer> {
  const followed = new Map<string, Followed<Answer>>();
  let ticking: NodeJS.Timeout | undefined;
  const tick = (id: string, one: Followed<Answer>): void => {
    // Of those who come at once the first asks for all.
    one.asking ??= ask(id).then(
      (answer) => {
        // First: who comes from now on would not be told, and has to ask anew.
        one.asking = null;
        for (const hear of one.hearers) hear(answer);
      },
      () => {
        one.asking = null;
      },
    );
  };
  return {
    follow(id, hear) {
      const one = followed.get(id) ?? { hearers: new Set(), asking: null };
      followed.set(id, one);
      one.hearers.add(hear);
      tick(id, one);
      ticking ??= setInterval(() => {
        for (const [each, its] of followed) tick(each, its);
      }, everyMs);
      return () => {
        one.hearers.delete(hear);
        if (one.hearers.size === 0) followed.delete(id);
        if (followed.size > 0) return;
        clearInterval(ticking);
        ticking = undefined;
      };
    },
    close() {
      clearInterval(ticking);
      ticking = undefined;
      followed.clear();
    },
  };
}
