import { pointerStep } from '../../../campaign/errors/error-item.js';
import { InputError } from '../../../campaign/errors/errors.js';
import { namesMeant, nearest } from '../../../campaign/errors/nearest.js';
import { FIELDS } from '../../../campaign/fields/fields.js';
import type { Row } from './rows.js';
import { SEND_AT } from './time-column.js';

/** How many are named: a list may have two hundred. */
const MAX_NAMED = 20;

const OWN_MEMBERS = ['to', 'reference'] as const;
/** Fields of a campaign that data about people have as well, under the same names. */
const USUAL_DATA: readonly string[] = ['name', 'country', 'tags', 'metadata'];
const OUTBOX = 'use an outbox, whose messages have versions of their own';

/** What a member would mean elsewhere, by its name in lower case without marks. Its producer may rely on that. */
const ELSEWHERE = new Map<string, string>([
  ...Object.keys(FIELDS)
    .filter((field) => !USUAL_DATA.includes(field))
    .map(
      (field) =>
        [
          folded(field),
          `is a setting of the whole campaign, not of a recipient; set it beside the list, or leave it out`,
        ] as const,
    ),
  ['sendat', `is not read: write \`${SEND_AT}\`, for every recipient, or set one time beside the list`],
  ['version', `has no meaning for a recipient; leave it out, or ${OUTBOX}`],
  ['reference', 'is no reference; write `reference`'],
]);

function folded(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

/**
 * Checks the members of recipients that neither the text nor a setting uses, if they have a value: a campaign would drop them without a word.
 * `used`: the columns that one does use.
 */
export function unusedMembers(columns: readonly string[], used: readonly string[]) {
  const known = new Set<string>([...OWN_MEMBERS, ...used]);
  /** The columns that nothing uses and that have had no value so far. */
  let empty = columns.flatMap((name, at) => (known.has(name) ? [] : [at]));
  const unused = new Set<string>();
  const note = (member: string, line: number): void => {
    if (unused.has(member)) return;
    const isLate = used.includes(member);
    const reason = isLate
      ? 'is not read, because the first recipient has none'
      : ELSEWHERE.get(folded(member));
    if (reason !== undefined) {
      const field = `recipients/${line - 1}/${pointerStep(member)}`;
      throw new InputError(`recipient ${line}: \`${member}\` ${reason}`, { field });
    }
    if (unused.size < MAX_NAMED) unused.add(member);
  };
  return {
    /** Throws an InputError if a member of the row would mean something elsewhere. */
    see({ fields, line, late = [] }: Row): void {
      const filled = empty.filter((at) => fields[at] !== '');
      for (const at of filled) note(columns[at] ?? '', line);
      if (filled.length > 0) empty = empty.filter((at) => !filled.includes(at));
      for (const member of late) note(member, line);
    },
    /** A warning for each of the others. */
    warnings: (): string[] =>
      [...unused].map((member) => {
        const meant = nearest(member, [...known]);
        const hint = meant === null ? '' : ` Did you mean \`${meant}\`?`;
        return `The text does not use \`${member}\` of the recipients.${hint}`;
      }),
  };
}

/** A warning about a column of a CSV that says when to send, and is not used. Most columns of a CSV are not. */
export function unusedTimes(columns: readonly string[], used: readonly string[]): string[] {
  const unused = columns.filter((name) => folded(name) === 'sendat' && namesMeant(name, used).length === 0);
  return unused.map((name) => `Column ${JSON.stringify(name)} is not used: name it in \`timeColumn\`.`);
}
