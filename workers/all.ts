import { loadConfig } from '../src/base/config/index.js';
import { ROLES } from '../src/engine/recovery/roles.js';
import { servingLanes } from '../src/surfaces/lifecycle.js';
import { run } from './run.js';

await run(ROLES.join('+'), loadConfig, servingLanes(ROLES));
