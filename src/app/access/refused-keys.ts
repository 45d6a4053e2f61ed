import type { Clock } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { ApiKey } from '../../campaign/states/api-key.js';
import type { AuditedOperation } from '../../campaign/states/audit.js';
import type { AuditTrail } from './audit-trail.js';

/** Addresses that are named per minute; requests from further ones are counted together. */
const MAX_ADDRESSES = 20;
const OTHERS = 'other addresses';
/** Counts stop here, so that a caller cannot infer from them how much is recorded. */
const MAX_COUNT = 10_000;
const MINUTE_MS = 60_000;

/** Counts refused requests. */
export interface RefusedKeys {
  /** Counts a request with an invalid key from an address. Never throws. */
  count(address: string): void;
  /** Counts a request of a valid key that was refused with this code. Never throws. */
  countRequest(key: Pick<ApiKey, 'id' | 'name'>, code: string): void;
  /** Counts a request of a valid key from an address that it may not be used from. Never throws. */
  countAddress(key: Pick<ApiKey, 'id' | 'name'>, address: string): void;
  /** Records what is counted, and stops. */
  close(): Promise<void>;
}

/** What is counted, as the audit trail names it. */
interface Counted extends Pick<Parameters<AuditTrail['record']>[0], 'actor'> {
  readonly action: AuditedOperation['action'];
  readonly of: Readonly<Record<string, string>>;
  count: number;
}

/**
 * Counts requests with an invalid key per address and minute, and refused requests of a valid one per key, code, and minute. At the end
 * of a minute, the audit trail gets one entry for each, with at most {@link MAX_ADDRESSES} addresses and one entry for the rest:
 * guessing keys must not fill it. The number of keys and of codes is limited by itself.
 */
export function refusedKeys(trail: Pick<AuditTrail, 'record'>, events: Events, clock: Clock): RefusedKeys {
  let addresses = new Map<string, Counted>();
  let requests = new Map<string, Counted>();
  let minute = 0;
  let timer: NodeJS.Timeout | undefined;

  /** Resolves when everything that was counted before is recorded. */
  let recorded = Promise.resolve();

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const counted = [...addresses.values(), ...requests.values()];
    addresses = new Map();
    requests = new Map();
    recorded = recorded.then(() => record(counted));
    return recorded;
  };
  const record = async (counted: readonly Counted[]): Promise<void> => {
    for (const { actor, action, of, count } of counted) {
      if (of['address'] !== undefined)
        events.emit({ type: 'key.refused', from: of['address'], requests: count });
      await trail.record({ actor, action, details: { ...of, count } }).catch(() => {});
    }
  };
  const add = (counts: Map<string, Counted>, id: string, first: Omit<Counted, 'count'>): void => {
    const counted = counts.get(id) ?? { ...first, count: 0 };
    counted.count = Math.min(MAX_COUNT, counted.count + 1);
    counts.set(id, counted);
    timer ??= setTimeout(() => void flush(), MINUTE_MS).unref();
  };
  const beginMinute = (): void => {
    const now = Math.floor(clock() / MINUTE_MS);
    if (now !== minute && addresses.size + requests.size > 0) void flush();
    minute = now;
  };

  return {
    count(address) {
      beginMinute();
      const named = addresses.has(address) || addresses.size < MAX_ADDRESSES ? address : OTHERS;
      add(addresses, named, { actor: null, action: 'key.refused', of: { address: named } });
    },
    countRequest({ id, name }, code) {
      beginMinute();
      const actor = { kind: 'key', id, name } as const;
      add(requests, `${id} ${code}`, { actor, action: 'request.refused', of: { code } });
    },
    countAddress({ id, name }, address) {
      beginMinute();
      const ofKey = [...requests.keys()].filter((known) => known.startsWith(`${id} from `));
      const named =
        ofKey.includes(`${id} from ${address}`) || ofKey.length < MAX_ADDRESSES ? address : OTHERS;
      const actor = { kind: 'key', id, name } as const;
      add(requests, `${id} from ${named}`, { actor, action: 'request.refused', of: { from: named } });
    },
    close: flush,
  };
}
