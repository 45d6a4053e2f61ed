import * as audit from './audit.js';
import * as campaigns from './campaigns.js';
import * as creation from './create-campaign.js';
import * as events from './events.js';
import * as inbound from './inbound.js';
import * as installation from './installation.js';
import * as keys from './keys.js';
import * as lanes from './lanes.js';
import * as messages from './messages.js';
import type { Operation } from './operation.js';
import * as outboxes from './outboxes.js';
import * as records from './records.js';
import * as results from './results.js';
import * as schedules from './schedules.js';
import * as subscription from './subscription.js';
import * as suppressions from './suppressions.js';
import * as token from './token.js';
import * as webhooks from './webhooks.js';

/** Every operation, in the order of the documentation. */
export const OPERATIONS: readonly Operation[] = [
  creation,
  campaigns,
  results,
  schedules,
  outboxes,
  messages,
  lanes,
  token,
  subscription,
  suppressions,
  inbound,
  keys,
  audit,
  installation,
  records,
  events,
  webhooks,
].flatMap((group): readonly Operation[] => Object.values(group));
