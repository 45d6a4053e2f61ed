import type { Located } from '../recipients/request-index.js';

/** Where requests lie that were settled last, on any lane: what comes late or twice of them need not be looked up. */
export interface SettledLately {
  find(lane: string, requestId: string): Located | undefined;
  add(lane: string, requestId: string, located: Located): void;
}

/** Remembers so many requests, and forgets first what was told first. */
export function settledLately(most: number): SettledLately {
  const held = new Map<string, Located>();
  return {
    find: (lane, requestId) => held.get(`${lane} ${requestId}`),
    add(lane, requestId, located) {
      const name = `${lane} ${requestId}`;
      held.delete(name);
      held.set(name, located);
      const oldest = held.size > most ? held.keys().next().value : undefined;
      if (oldest !== undefined) held.delete(oldest);
    },
  };
}
