import type { Scenario } from './scenario.js';
import { FORGETTING_SCENARIOS } from './scenarios/forgetting.js';
import { NOTIFICATION_SCENARIOS } from './scenarios/notifications.js';
import { PROCESS_SCENARIOS } from './scenarios/processes.js';
import { REDIS_SCENARIOS } from './scenarios/redis.js';
import { SERVICE_SCENARIOS } from './scenarios/service.js';

/** Every scenario there is, those first that take longest. */
export const SCENARIOS: readonly Scenario[] = [
  ...[...PROCESS_SCENARIOS].reverse(),
  ...FORGETTING_SCENARIOS,
  ...NOTIFICATION_SCENARIOS,
  ...REDIS_SCENARIOS,
  ...SERVICE_SCENARIOS,
];
