import { loadLocalConfig } from '../src/base/config/index.js';
import { servingHttp } from '../src/surfaces/lifecycle.js';
import { run } from './run.js';

// The HTTP API sends no requests to the service, so it does not get its credentials.
await run('http', loadLocalConfig, servingHttp);
