/** The HTTP API in a process of its own, for bench/http.ts: tells where it listens and a key, and what it has taken. */
import { loadLocalConfig } from '../../src/config.js';
import { createEvents } from '../../src/events.js';
import { createHttp } from '../../src/http/index.js';
import { createVolley } from '../../src/runtime.js';

const config = loadLocalConfig(process.env);
const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
const app = createHttp({ volley, config });
const origin = await app.listen({ host: '127.0.0.1', port: 0 });
const { key } = await volley.keys.create({ name: 'bench', scopes: ['read', 'send', 'operate'] });

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({
    peakMb: Math.round(process.resourceUsage().maxRSS / 1024),
    nowMb: Math.round(process.memoryUsage.rss() / 1_048_576),
    processorMs: Math.round((user + system) / 1000),
  });
});
process.on('disconnect', async () => {
  await app.close();
  await volley.close();
});
process.send?.({ origin, key });
