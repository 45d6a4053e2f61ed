import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { loadConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { freePort, type PrivateRedis, startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { startProgram } from '../../end-to-end/program.js';
import { recipients } from '../../end-to-end/recipients.js';
import { startSimulatorProcess } from '../../end-to-end/simulator-process.js';
import { finished } from '../../end-to-end/started.js';
import { SELF_SIGNED } from '../../interface/certificate.js';

const isServerHere = (await findServer()) !== undefined;

describe.runIf(isServerHere)('a Redis with TLS and a self-signed certificate', () => {
  let dir: string;
  let server: PrivateRedis;
  let environment: Record<string, string>;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'volley-tls-'));
    const [cert, key, port] = [join(dir, 'cert.pem'), join(dir, 'key.pem'), await freePort()];
    await writeFile(cert, SELF_SIGNED.cert);
    await writeFile(key, SELF_SIGNED.key);
    server = await startPrivateRedis({
      dir,
      appendfsync: 'always',
      settings: [
        `tls-port ${port}`,
        `tls-cert-file ${cert}`,
        `tls-key-file ${key}`,
        `tls-ca-cert-file ${cert}`,
        'tls-auth-clients no',
      ],
    });
    const { password } = new URL(server.url);
    environment = { REDIS_URL: `rediss://:${password}@localhost:${port}`, NODE_EXTRA_CA_CERTS: cert };
  });
  afterAll(async () => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });

  test('a worker that trusts the certificate sends a campaign', async () => {
    const simulator = await startSimulatorProcess({ deliveryTime: 10 });
    onTestFinished(() => simulator.stop());
    const shared = {
      MESSAGING_BASE_URL: simulator.messagingBaseUrl,
      API_KEY: 'simulator-key',
      SENDER_ADDRESS: 'ACME',
      FOLLOW_UP_FIRST_MS: '100',
    };
    const worker = startProgram('workers/all.js', { ...environment, ...shared });
    onTestFinished(async () => {
      await worker.end('SIGTERM');
    });
    // The same server without TLS, because NODE_EXTRA_CA_CERTS only takes effect when a process starts.
    const config = loadConfig({ ...shared, REDIS_URL: server.url });
    const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
    onTestFinished(() => volley.close());
    const made = await volley.enqueue({ recipients: recipients(20), message: 'Sale' });
    const id = made.outcome === 'created' ? made.id : made.outcome;
    const final = await finished(volley, id, 35_000);
    expect(final.counts.deliveredToTerminal).toBe(20);
  });

  test('a command that does not trust the certificate reports that', async () => {
    const { REDIS_URL = '' } = environment;
    const command = startProgram('src/surfaces/cli/main.js', { REDIS_URL }, ['list']);
    expect(await command.ended).toBe(1);
    expect(command.log.join('\n')).toMatch(/Redis does not answer: self-signed certificate/);
  });
});
