import { attackTests } from './attack-tests.js';
import { dueAtOnce } from './due-at-once.js';
import { KILLS } from './kills.js';
import { outboxSettings } from './outbox-settings.js';
import { tenants } from './tenants.js';

await attackTests(...KILLS, outboxSettings, dueAtOnce, tenants);
