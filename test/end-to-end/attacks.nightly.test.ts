import { attackTests } from '../faults/attacks/attack-tests.js';
import { dueAtOnce } from '../faults/attacks/due-at-once.js';
import { KILLS } from '../faults/attacks/kills.js';
import { outboxSettings } from '../faults/attacks/outbox-settings.js';
import { tenants } from '../faults/attacks/tenants.js';

await attackTests(...KILLS, outboxSettings, dueAtOnce, tenants);
