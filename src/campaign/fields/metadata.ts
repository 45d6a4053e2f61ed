import { notText } from '../text/lone-surrogate.js';

const MAX_ENTRIES = 20;
const MAX_NAME_LENGTH = 40;
const MAX_VALUE_LENGTH = 500;

/** The producer's own data about a campaign: texts by name. Volley stores and returns it, and never sends it. */
export type Metadata = Readonly<Record<string, string>>;

/** Why metadata is invalid; null if it is valid. */
export function metadataProblem(values: Metadata): string | null {
  const entries = Object.entries(values);
  if (entries.length > MAX_ENTRIES)
    return `the metadata has ${entries.length} entries; the maximum is ${MAX_ENTRIES}`;
  for (const [name, value] of entries) {
    if (name === '' || name.length > MAX_NAME_LENGTH)
      return `a name in the metadata has ${name.length} characters; use 1 to ${MAX_NAME_LENGTH}`;
    // Programs without types may pass anything.
    if (typeof value !== 'string') return `metadata ${JSON.stringify(name)} is not a text`;
    if (value.length > MAX_VALUE_LENGTH)
      return `metadata ${JSON.stringify(name)} has ${value.length} characters; the maximum is ${MAX_VALUE_LENGTH}`;
    const reason = notText(`${name} ${value}`, `metadata ${JSON.stringify(name)} `);
    if (reason !== null) return reason;
  }
  return null;
}
