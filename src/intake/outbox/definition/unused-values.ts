import { nearest } from '../../../campaign/errors/nearest.js';
import { placeholdersOf } from '../../../campaign/text/template.js';
import { type OutboxSettings, ruleOf } from './settings.js';

/** The members of a message that are no values. */
export const MEMBERS = ['id', 'to', 'sendAt', 'version', 'reference', 'tag', 'zone'] as const;
/** How many are named: a message may have thousands. */
const MAX_NAMED = 20;

/** A member of a message that nothing uses, and what says so to its sender. */
export interface UnusedValue {
  readonly member: string;
  readonly warning: string;
}

/**
 * Finds the members of a message that have no meaning of their own, and that neither the text of the outbox nor its `sendRule`
 * uses: `verison` may have been meant to be `version`.
 */
export function unusedValues(
  settings: Pick<OutboxSettings, 'message' | 'sendRule'>,
): (message: object) => readonly UnusedValue[] {
  const placeholders = placeholdersOf(settings.message);
  const rule = ruleOf(settings);
  const used: readonly string[] = [
    ...MEMBERS,
    ...(placeholders.ok ? placeholders.names : []),
    ...(rule.kind === 'now' ? [] : [rule.column]),
  ];
  return (message) => {
    const unused = Object.keys(message).filter((member) => !used.includes(member));
    return unused.slice(0, MAX_NAMED).map((member) => {
      const meant = nearest(member, used);
      const hint = meant === null ? '' : ` Did you mean \`${meant}\`?`;
      return { member, warning: `Neither the text nor \`sendRule\` uses \`${member}\`.${hint}` };
    });
  };
}
