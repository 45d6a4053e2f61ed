import { createMask } from '../../base/events/mask.js';
import type { ApiKey } from '../../campaign/api-key.js';
import { allowsScope } from '../../campaign/api-key.js';

const mask = createMask();

/**
 * A status as this key may see it. Without the scope `read`, phone numbers in the reasons, which may quote the service, and in the
 * names and idempotency keys of campaigns are masked. Texts of messages, and metadata, which may contain anything, are left out.
 */
export function redactedFor<Status>(key: ApiKey, status: Status): Status {
  return allowsScope(key, 'read') ? status : (masked('', status) as Status);
}

function masked(name: string, value: unknown): unknown {
  if (typeof value === 'string') {
    if (name === 'reason') return mask.prose(value);
    if (name === 'message') return '';
    return name === 'name' || name === 'idempotencyKey' ? mask.id(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => masked(name, item));
  if (typeof value !== 'object' || value === null) return value;
  if (name === 'metadata') return {};
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked(key, item)]));
}
