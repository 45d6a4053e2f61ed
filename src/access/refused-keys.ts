import type { Clock } from '../clock.js';
import type { Events } from '../events/events.js';
import type { AuditTrail } from './audit-trail.js';

/** Addresses that are named per minute; requests from further ones are counted together. */
const MAX_ADDRESSES = 20;
const OTHERS = 'other addresses';
/** Counts stop here, so that a caller cannot infer from them how much is recorded. */
const MAX_COUNT = 10_000;
const MINUTE_MS = 60_000;

/** Counts requests with an invalid key. */
export interface RefusedKeys {
  /** Counts a request from an address. Never throws. */
  count(address: string): void;
  /** Records what is counted, and stops. */
  close(): Promise<void>;
}

/**
 * Counts the requests with an invalid key per address and minute. At the end of a minute, the audit trail gets one entry per
 * address, at most {@link MAX_ADDRESSES} and one for the rest: guessing keys must not fill it.
 */
export function refusedKeys(trail: Pick<AuditTrail, 'record'>, events: Events, clock: Clock): RefusedKeys {
  let counts = new Map<string, number>();
  let minute = 0;
  let timer: NodeJS.Timeout | undefined;

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const counted = [...counts];
    counts = new Map();
    for (const [address, count] of counted) {
      events.emit({ type: 'key.refused', from: address, requests: count });
      const details = { address, count };
      await trail.record({ actor: null, action: 'key.refused', details }).catch(() => {});
    }
  };

  return {
    count(address) {
      const now = Math.floor(clock() / MINUTE_MS);
      if (now !== minute && counts.size > 0) void flush();
      minute = now;
      const named = counts.has(address) || counts.size < MAX_ADDRESSES ? address : OTHERS;
      counts.set(named, Math.min(MAX_COUNT, (counts.get(named) ?? 0) + 1));
      timer ??= setTimeout(() => void flush(), MINUTE_MS).unref();
    },
    close: flush,
  };
}
