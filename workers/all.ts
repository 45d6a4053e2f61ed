import { loadConfig } from '../src/config/index.js';
import { servingLanes } from '../src/lifecycle.js';
import { run } from './run.js';

await run('send+follow-up', loadConfig, servingLanes(['send', 'follow-up']));
