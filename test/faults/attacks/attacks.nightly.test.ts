import { attackTests } from './attack-tests.js';
import { dueAtOnce } from './due-at-once.js';
import { KILLS } from './kills.js';
import { outboxSettings } from './outbox-settings.js';
import { OUTBOX_WRITERS } from './outbox-writers.js';
import { stopWords } from './stop-words.js';
import { tenants } from './tenants.js';
import { ZONE_NIGHTS } from './zones.js';

await attackTests(
  ...KILLS,
  ...OUTBOX_WRITERS,
  stopWords,
  outboxSettings,
  dueAtOnce,
  tenants,
  ...ZONE_NIGHTS.slice(0, 1),
);
