import { runWorker } from './process.js';

await runWorker(['follow-up']);
