import { runWorker } from './worker.js';

await runWorker(['follow-up']);
