import { loadLocalConfig } from '../src/config/index.js';
import { createHttp, type HttpApp, listen } from '../src/http/index.js';
import { live } from './process.js';

/** The HTTP API. It never speaks with the service, so it is given no credentials of it. */
let app: HttpApp | undefined;
await live({
  role: 'http',
  load: (environment) => loadLocalConfig(environment),
  async begin(volley, config, events) {
    app = createHttp({ volley, config });
    await listen(app, config, events);
  },
  async drain() {
    await app?.close();
  },
});
