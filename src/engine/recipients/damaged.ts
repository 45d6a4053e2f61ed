import { z } from 'zod';
import { jsonOrUndefined } from '../../base/json.js';
import { VolleyError } from '../../campaign/errors/errors.js';

/**
 * Stored data is damaged: a part of it was deleted, for example because Redis is configured to evict keys, or has a form that no version writes.
 * Readers of many records skip such a record (`orNull`), so that it stops no other.
 */
export class DamagedError extends VolleyError {
  override readonly name = 'DamagedError';
  readonly code = 'damaged';
}

/** Reads a stored record. Throws a {@link DamagedError} that names it, such as `campaign mwrwtvlrlfo07`, if that fails. */
export function readRecord<Value>(record: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamagedError) throw error;
    throw new DamagedError(
      `${record} cannot be read (${reasonOf(error)}): \`volley doctor\` says how to remove it`,
      { cause: error },
    );
  }
}

/** The same, of one record among many; null if it cannot be read. */
export function readOrNull<Value>(read: () => Value): Value | null {
  try {
    return readRecord('a record', read);
  } catch {
    return null;
  }
}

/** What `reading` resolves with; null if it is damaged. */
export async function orNull<Value>(reading: Promise<Value>): Promise<Value | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof DamagedError) return null;
    throw error;
  }
}

/** The members of a stored object that have the form of this schema. What is no object has none. */
export function readableMembers(
  shape: Readonly<Record<string, z.ZodType>>,
  json: string,
): Record<string, unknown> {
  const members = z.record(z.string(), z.unknown()).safeParse(jsonOrUndefined(json)).data ?? {};
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) => shape[name]?.safeParse(value).success === true),
  );
}

/** Names the first member at fault. It quotes no value, which may be a phone number. */
function reasonOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) return 'it is not JSON';
  const [issue] = error.issues;
  const member = issue?.path.join('.') ?? '';
  return member === '' ? 'it has another form' : `\`${member}\` is invalid`;
}
