import * as audit from './audit.js';
import * as campaigns from './campaigns.js';
import * as creation from './create-campaign.js';
import * as lanes from './lanes.js';
import type { Operation } from './operation.js';
import * as outboxes from './outboxes.js';
import * as records from './records.js';
import * as results from './results.js';
import * as schedules from './schedules.js';
import * as suppressions from './suppressions.js';

/** Every operation, in the order of the documentation. */
export const OPERATIONS: readonly Operation[] = [
  creation,
  campaigns,
  results,
  schedules,
  outboxes,
  lanes,
  suppressions,
  audit,
  records,
].flatMap((group): readonly Operation[] => Object.values(group));
