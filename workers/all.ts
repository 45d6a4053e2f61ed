import { runWorker } from './worker.js';

await runWorker(['send', 'follow-up']);
