import { loadConfig } from '../src/config/index.js';
import { servingLanes } from '../src/lifecycle.js';
import { run } from './run.js';

await run('send', loadConfig, servingLanes(['send']));
