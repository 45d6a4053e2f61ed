import { placeholdersOf } from '../../../campaign/text/template.js';
import { type OutboxSettings, ruleOf } from './settings.js';

/** The values that a message must have: those that the text and the rule use, the placeholders first. */
export function usedColumns({ message, sendRule }: Pick<OutboxSettings, 'message' | 'sendRule'>): string[] {
  const placeholders = placeholdersOf(message);
  const rule = ruleOf({ sendRule });
  const names = placeholders.ok ? placeholders.names : [];
  return [...new Set([...names, ...(rule.kind === 'relative' ? [rule.column] : [])])];
}
