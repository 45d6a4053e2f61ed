import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import { at, CONTRACT } from '../call-records/contract/contract.js';
import { scene } from '../scene/scene.js';

/**
 * A scene in which every operation has something to do, on the lanes `east`, `west`, `spare`, and `sandbox`, and the settings of a process that
 * can also call the service. The one of `sandbox` is a simulator; requests to the other have an unknown outcome. `receiver` is an address
 * that accepts events.
 */
export async function operationsScene(name: string) {
  const { api, lanesFile, open, startSimulator, write } = scene(name);
  // It says yes to the question whether it is a simulator, as to every other one, but not as a simulator does.
  const service = createServer(({ url, method, socket }, response) => {
    if (method === 'GET' || url === '/events') response.end('{"ok":true}');
    else socket.destroy();
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  afterAll(() => {
    service.closeAllConnections();
    service.close();
  });
  const origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const simulator = await startSimulator({ keys: [{ key: 'key-sandbox' }] });
  // It can log in, and no request needs its token.
  const account = { account: { username: 'anna', password: 'right' }, xAuthorization: 'none' };
  const settings = {
    REDIS_MAY_LOSE: '0s',
    LANES_FILE: lanesFile([
      { name: 'east', apiKey: 'key-east', authorization: 'apiKey', ...account },
      ...['west', 'spare'],
      { name: 'sandbox', apiKey: 'key-sandbox', baseUrl: simulator.messagingBaseUrl },
    ]),
    MESSAGING_BASE_URL: origin,
    ALLOW_INSECURE: 'service',
    RECORDS_CONTRACT: write('contract.json', at(CONTRACT, origin)),
    SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
    CALLBACK_URL: 'https://volley.example/in',
    CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
    SENDER_ADDRESS: 'ACME',
    DEFAULT_COUNTRY: 'GB',
    MAX_SCHEDULE_AHEAD: '365000d',
    WEBHOOK_ALLOW: '127.0.0.1',
    HTTP_REQUESTS_PER_MINUTE: '100000',
  };
  return { api, open, settings, receiver: `${origin}/events` };
}
