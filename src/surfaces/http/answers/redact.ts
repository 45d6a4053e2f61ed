import { createMask } from '../../../base/events/mask.js';
import { emptyOf } from '../../../campaign/fields/field-kinds.js';
import { FIELD_NAMES, fieldNamed } from '../../../campaign/fields/field-sets.js';
import type { ApiKey } from '../../../campaign/states/api-key.js';
import { allowsScope } from '../../../campaign/states/api-key.js';

const mask = createMask();

type Text = (text: string) => string;
const texts =
  (hidden: Text) =>
  (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(texts(hidden));
    return typeof value === 'string' ? hidden(value) : redacted(value);
  };

/** What a key without the scope `read` sees of the members that may contain personal data, by their names. */
const HIDDEN: ReadonlyMap<string, (value: unknown) => unknown> = new Map([
  // It may quote the service.
  ['reason', texts(mask.prose)],
  ...FIELD_NAMES.flatMap((name) => {
    const field = fieldNamed(name);
    if (field.withoutRead === 'whole') return [];
    return [[name, field.withoutRead === 'masked' ? texts(mask.id) : () => emptyOf(field)] as const];
  }),
]);

/**
 * A status as this key may see it. Without the scope `read`, phone numbers in reasons are masked, and the fields of campaigns are masked or
 * left out, as their rows say.
 */
export function redactedFor<Status>(key: ApiKey, status: Status): Status {
  return allowsScope(key, 'read') ? status : (redacted(status) as Status);
}

function redacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, (HIDDEN.get(name) ?? redacted)(member)]),
  );
}
