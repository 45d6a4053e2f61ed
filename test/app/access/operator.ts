import type { Operator } from '../../../src/campaign/states/audit.js';
import type { NewOperation } from '../../../src/engine/suppression/suppression.js';

/** An operator whose operations are not recorded. */
export const OPERATOR: Operator = {
  actor: { kind: 'library', id: null, name: 'a test' },
  isLimited: false,
  authorise: async () => {},
  audited: (_operation, run) => run(),
};

/** A change of the suppression list of the whole installation by {@link OPERATOR}. */
export const SUPPRESSING: NewOperation = {
  list: null,
  actor: OPERATOR.actor,
  source: 'a test',
  reason: '',
  at: 0,
};

/** An operator that acts for an API key. */
export const byKey = (id: string): Operator => ({ ...OPERATOR, actor: { kind: 'key', id, name: 'shop' } });
