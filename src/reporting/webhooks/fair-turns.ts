/*
 * Shares the turns of a process among the owners of endpoints. A turn lasts for as long as its requests, up to 40 s if the endpoint does not
 * answer, so whatever is full stays full: an owner begins another turn only while it has fewer than are free. One owner alone has at most half
 * of them, two have a third each, and so on. So some are always free for an owner that has none, as long as there are more turns than owners.
 */

interface Waiting {
  readonly owner: string;
  begin(isMine: boolean): void;
}

/** Opens the turns of a process. */
export function fairTurns(most: number) {
  const held = new Map<string, number>();
  const waiting = new Set<Waiting>();
  let free = most;

  const heldBy = (owner: string): number => held.get(owner) ?? 0;
  const mayBegin = (owner: string): boolean => heldBy(owner) < free;
  /** The owner with the fewest turns goes first, and of its endpoints the one that waits longest. */
  const nextWaiting = (): Waiting | undefined => {
    let next: Waiting | undefined;
    for (const one of waiting)
      if (mayBegin(one.owner) && (next === undefined || heldBy(one.owner) < heldBy(next.owner))) next = one;
    return next;
  };
  const beginWaiting = (): void => {
    for (let next = nextWaiting(); next !== undefined; next = nextWaiting()) {
      waiting.delete(next);
      free -= 1;
      held.set(next.owner, heldBy(next.owner) + 1);
      next.begin(true);
    }
  };
  const end = (owner: string): void => {
    free += 1;
    if (heldBy(owner) > 1) held.set(owner, heldBy(owner) - 1);
    else held.delete(owner);
    beginWaiting();
  };

  return {
    /** Runs a turn of an owner as soon as it may begin. Returns null if the signal fires before. */
    async run<Result>(
      owner: string,
      signal: AbortSignal,
      turn: () => Promise<Result>,
    ): Promise<Result | null> {
      const hasBegun = await new Promise<boolean>((begin) => {
        if (signal.aborted) return begin(false);
        const one = { owner, begin };
        waiting.add(one);
        signal.addEventListener('abort', () => waiting.delete(one) && begin(false), { once: true });
        return beginWaiting();
      });
      if (!hasBegun) return null;
      try {
        return await turn();
      } finally {
        end(owner);
      }
    },
  };
}
