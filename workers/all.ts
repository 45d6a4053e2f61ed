import { loadConfig } from '../src/base/config/index.js';
import { servingLanes } from '../src/surfaces/lifecycle.js';
import { run } from './run.js';

await run('send+follow-up', loadConfig, servingLanes(['send', 'follow-up']));
