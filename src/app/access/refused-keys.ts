import type { Clock } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { AuditedOperation } from '../../campaign/states/audit.js';
import type { RefusedRequest } from './api-keys.js';
import type { AuditTrail } from './audit-trail.js';

/** Addresses that are named per minute; requests from further ones are counted together. */
const MAX_ADDRESSES = 20;
const OTHERS = 'other addresses';
/** Counts stop here, so that a caller cannot infer from them how much is recorded. */
const MAX_COUNT = 10_000;
const MINUTE_MS = 60_000;

/** Counts refused requests. */
export interface RefusedKeys {
  /** Never throws. */
  count(request: RefusedRequest): void;
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
 * Counts requests with an invalid key per address and minute, and refused requests of a valid one per key, and per code or address and
 * minute. At the end of a minute, the audit trail gets one entry for each, with at most {@link MAX_ADDRESSES} addresses, of no key or of
 * each, and one entry for the rest: guessing keys must not fill it. The number of keys and of codes is limited by itself.
 */
export function refusedKeys(trail: Pick<AuditTrail, 'record'>, events: Events, clock: Clock): RefusedKeys {
  /** By what is counted, and by its name. */
  let counts = new Map<string, Map<string, Counted>>();
  let minute = 0;
  let timer: NodeJS.Timeout | undefined;

  /** Resolves when everything that was counted before is recorded. */
  let recorded = Promise.resolve();

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const counted = [...counts.values()].flatMap((of) => [...of.values()]);
    counts = new Map();
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
  return {
    count(request) {
      const now = Math.floor(clock() / MINUTE_MS);
      if (now !== minute && counts.size > 0) void flush();
      minute = now;
      const { key } = request;
      const member = 'code' in request ? 'code' : key === undefined ? 'address' : 'from';
      const kind = `${member} ${key?.id}`;
      const same = counts.get(kind) ?? new Map<string, Counted>();
      const given = 'code' in request ? request.code : request.address;
      const name = 'code' in request || same.has(given) || same.size < MAX_ADDRESSES ? given : OTHERS;
      const counted = same.get(name) ?? {
        actor: key === undefined ? null : ({ kind: 'key', id: key.id, name: key.name } as const),
        action: key === undefined ? 'key.refused' : 'request.refused',
        of: { [member]: name },
        count: 0,
      };
      counted.count = Math.min(MAX_COUNT, counted.count + 1);
      counts.set(kind, same.set(name, counted));
      timer ??= setTimeout(() => void flush(), MINUTE_MS).unref();
    },
    close: flush,
  };
}
