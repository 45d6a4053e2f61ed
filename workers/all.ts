import { runWorker } from './process.js';

await runWorker(['send', 'follow-up']);
