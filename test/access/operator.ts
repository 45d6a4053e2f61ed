import type { Operator } from '../../src/campaign/audit.js';

/** An operator whose operations are not recorded. */
export const OPERATOR: Operator = {
  actor: { kind: 'library', id: null, name: 'a test' },
  audited: (_operation, run) => run(),
};
