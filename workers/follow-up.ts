import { loadConfig } from '../src/config/index.js';
import { servingLanes } from '../src/lifecycle.js';
import { run } from './run.js';

await run('follow-up', loadConfig, servingLanes(['follow-up']));
