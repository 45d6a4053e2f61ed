import { appendFileSync } from 'node:fs';
import { expect } from 'vitest';

/*
 * Vitest runs this before each file. With WORKER_ORDER=PATH, each worker writes down the files that it runs, in their order, so that
 * `.ci/steady` can repeat the order of one worker: files of a worker share their modules.
 */
const path = process.env['WORKER_ORDER'];
if (path !== undefined) appendFileSync(path, `${process.pid} ${expect.getState().testPath}\n`);
