import { attackTests } from './attack-tests.js';
import { outboxKills } from './outbox-kills.js';
import { webhooks } from './webhooks.js';

await attackTests(outboxKills, webhooks);
