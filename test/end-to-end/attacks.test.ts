import { attackTests } from '../faults/attacks/attack-tests.js';

await attackTests('outbox', 'cancelled', 'versions', 'webhooks', 'stop-words');
