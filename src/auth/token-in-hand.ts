import type { Clock } from '../clock.js';
import type { CurrentToken } from './token-record.js';

/** A token as this process holds it; times on the monotonic clock, infinite if the token does not tell. */
export interface InHand {
  token: string;
  generation: number;
  renewAt: number;
  expiresAt: number;
  /** When to ask Redis in passing whether there is a newer one. */
  lookAt: number;
}

/** This process's own copy of the token, so that the way of a request to its token needs no Redis. */
export function tokenInHand(monotonic: Clock, lookAgainMs: number) {
  let held: InHand | undefined;
  /** The latest generation known to this process, in hand or of no use any more. Older ones are not taken back. */
  let latest = 0;

  return {
    /** Takes what Redis had. `since` is when it was asked, which is no later than when the times began to count. */
    take({ token, generation, renewInMs, expiresInMs, since }: CurrentToken & { since: number }): InHand {
      const at = (ms: number | undefined): number =>
        ms === undefined ? Number.POSITIVE_INFINITY : since + ms;
      const taken: InHand = {
        token,
        generation,
        renewAt: at(renewInMs),
        expiresAt: at(expiresInMs),
        lookAt: since + lookAgainMs,
      };
      if (generation > latest) {
        held = taken;
        latest = generation;
      }
      return taken;
    },

    /** The token in hand, if it has not expired. */
    usable(): InHand | undefined {
      return held !== undefined && monotonic() < held.expiresAt ? held : undefined;
    },

    /** The service refused this generation: it and older ones are of no use. */
    drop(generation: number): void {
      latest = Math.max(latest, generation);
      if (held !== undefined && held.generation <= generation) held = undefined;
    },

    /** Where none is usable, only a generation later than this helps. */
    latest: (): number => latest,
  };
}
