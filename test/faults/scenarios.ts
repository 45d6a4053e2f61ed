import type { Scenario } from './scenario.js';
import { CLUSTER_SCENARIOS } from './scenarios/cluster.js';
import { DATA_LOSS_SCENARIOS } from './scenarios/data-loss.js';
import { NOTIFICATION_SCENARIOS } from './scenarios/notifications.js';
import { PARTITION_SCENARIOS } from './scenarios/partition.js';
import { PROCESS_SCENARIOS } from './scenarios/processes.js';
import { REDIS_SCENARIOS } from './scenarios/redis.js';
import { SERVICE_SCENARIOS } from './scenarios/service.js';
import { WINDOW_SCENARIOS } from './scenarios/windows.js';

/** Every scenario, the longest first. */
export const SCENARIOS: readonly Scenario[] = [
  ...PARTITION_SCENARIOS,
  ...[...PROCESS_SCENARIOS].reverse(),
  ...DATA_LOSS_SCENARIOS,
  ...CLUSTER_SCENARIOS,
  ...WINDOW_SCENARIOS,
  ...NOTIFICATION_SCENARIOS,
  ...REDIS_SCENARIOS,
  ...SERVICE_SCENARIOS,
];
