import type { Attack } from './attacks/attack.js';
import { dueAtOnce } from './attacks/due-at-once.js';
import { KILLS } from './attacks/kills.js';
import { outboxKills } from './attacks/outbox-kills.js';
import { outboxSettings } from './attacks/outbox-settings.js';
import { OUTBOX_WRITERS } from './attacks/outbox-writers.js';
import { path } from './attacks/path.js';
import { stopWords } from './attacks/stop-words.js';
import { tenants } from './attacks/tenants.js';
import { webhooks } from './attacks/webhooks.js';
import { ZONE_NIGHTS } from './attacks/zones.js';

export const ATTACKS: readonly Attack[] = [
  path,
  ...KILLS,
  outboxKills,
  ...OUTBOX_WRITERS,
  outboxSettings,
  dueAtOnce,
  webhooks,
  stopWords,
  tenants,
  ...ZONE_NIGHTS,
];
