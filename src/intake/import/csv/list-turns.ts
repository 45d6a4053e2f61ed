/** Lists that wait for their turn, in the order in which they asked. */
const waiting: (() => void)[] = [];

/**
 * Resolves when it is this list's turn. In each turn of the event loop, one of the lists that a process reads at the same time
 * continues: however many there are, other requests wait for a chunk of one list, not of all.
 */
export function listTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(startNext);
  });
}

function startNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(startNext);
}
