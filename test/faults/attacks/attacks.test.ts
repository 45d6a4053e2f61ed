import { attackTests } from './attack-tests.js';
import { outboxKills } from './outbox-kills.js';
import { OUTBOX_WRITERS } from './outbox-writers.js';
import { stopWords } from './stop-words.js';
import { webhooks } from './webhooks.js';

await attackTests(outboxKills, ...OUTBOX_WRITERS, webhooks, stopWords);
