import { attackTests } from '../faults/attacks/attack-tests.js';
import { outboxKills } from '../faults/attacks/outbox-kills.js';
import { OUTBOX_WRITERS } from '../faults/attacks/outbox-writers.js';
import { stopWords } from '../faults/attacks/stop-words.js';
import { webhooks } from '../faults/attacks/webhooks.js';

await attackTests(outboxKills, ...OUTBOX_WRITERS, webhooks, stopWords);
