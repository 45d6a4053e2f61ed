import { afterAll } from 'vitest';
import { loadLocalConfig } from '../../src/config.js';
import { createEvents } from '../../src/events.js';
import { createHttp, type HttpApp } from '../../src/http/index.js';
import { createVolley, type Volley } from '../../src/runtime.js';

/** An API that listens on a port of its own, over a Volley that speaks with Redis alone. */
export interface Served {
  readonly app: HttpApp;
  readonly volley: Volley;
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  /** Everything that was logged, at the level `trace`. */
  readonly log: readonly string[];
}

/** Serves until the file's last test is over. `settings` are those of the environment, `also` adds routes. */
export async function served(
  settings: Record<string, string>,
  also: (app: HttpApp) => void = () => {},
): Promise<Served> {
  const log: string[] = [];
  const config = loadLocalConfig({ API_KEY: 'key', SENDER_ADDRESS: 'ACME', ...settings });
  const events = createEvents({ level: 'trace', destination: { write: (line) => void log.push(line) } });
  const volley = createVolley({ config, events });
  const app = createHttp({ volley, config });
  also(app);
  afterAll(async () => {
    await app.close();
    await volley.close();
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, volley, origin, log };
}
