import { loadConfig } from '../src/base/config/index.js';
import { servingLanes } from '../src/surfaces/lifecycle.js';
import { run } from './run.js';

await run('webhooks', loadConfig, servingLanes(['webhooks']));
