import { createHash, type Hash } from 'node:crypto';
import type { CheckedRow } from './check-rows.js';

type Recipient = Extract<CheckedRow, { kind: 'recipient' }>;

/**
 * The digests of a list that is read batch by batch. `head`: what else must be equal, such as the text; `used`: the positions of the values
 * that the text uses.
 */
export function contentDigest(head: string, used: readonly number[]) {
  const sent = createHash('sha256').update(head);
  // Most lists have no references, and leave out no valid row.
  let all: Hash | undefined;
  let references: Hash | undefined;
  let content: string | undefined;

  const addTo = (digest: Hash, rows: readonly Recipient[]): void => {
    let digested = '';
    for (const { number, values } of rows) {
      digested += number;
      for (const position of used) {
        const value = values[position] ?? '';
        // With its length, so that no two lists of values read the same.
        digested += `,${value.length}:${value}`;
      }
    }
    digest.update(digested);
  };

  return {
    /** Adds the valid rows of a batch, and those of them that are sent. */
    add(valid: readonly Recipient[], kept: readonly Recipient[]): void {
      if (kept.length < valid.length) all ??= sent.copy();
      addTo(sent, kept);
      if (all !== undefined) addTo(all, valid);
      for (const { number, line, reference, part } of valid) {
        if (reference === '' && part === undefined) continue;
        references ??= createHash('sha256');
        references.update(`${number},${line},${reference.length}:${reference}${part ?? ''}`);
      }
    },
    /** Of the rows that are sent, as far as the text uses them; after the last batch. */
    content(): string {
      content ??= sent.digest('base64url');
      return content;
    },
    /** The same with the references, zones, and times, and of all valid rows; once, after the last batch. */
    fingerprint(): string {
      const whole = all?.digest('base64url') ?? this.content();
      return references === undefined ? whole : references.update(whole).digest('base64url');
    },
  };
}

/** Of a list with this fingerprint, and of the settings with which it is sent. */
export const campaignDigest = (fingerprint: string, settings: readonly unknown[]): string =>
  createHash('sha256')
    .update(JSON.stringify([fingerprint, ...settings]))
    .digest('base64url');
