import { BATCH_MUTANTS } from './batches.js';
import { CLAIM_MUTANTS } from './claims.js';
import { GATE_MUTANTS } from './gate.js';
import { INBOUND_MUTANTS } from './inbound.js';
import type { Mutant } from './mutant.js';
import { ORDER_MUTANTS } from './order.js';
import { OUTBOX_MUTANTS } from './outboxes.js';
import { QUOTA_MUTANTS } from './quota.js';
import { REMOVAL_MUTANTS } from './removal.js';
import { RESULT_MUTANTS } from './results.js';
import { STATUS_MUTANTS } from './statuses.js';
import { WINDOW_MUTANTS } from './windows.js';

/** Every planted bug that worlds of seeds must catch. */
export const MUTANTS: readonly Mutant[] = [
  ...QUOTA_MUTANTS,
  ...BATCH_MUTANTS,
  ...CLAIM_MUTANTS,
  ...GATE_MUTANTS,
  ...ORDER_MUTANTS,
  ...WINDOW_MUTANTS,
  ...STATUS_MUTANTS,
  ...RESULT_MUTANTS,
  ...OUTBOX_MUTANTS,
  ...INBOUND_MUTANTS,
  ...REMOVAL_MUTANTS,
];
