import { appendFileSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../src/tools/simulator/index.js';
import { SOON } from '../../base/soon.js';
import { exchange } from './raw-http.js';
import { idOf, requestsTo, statusesOf, statusOf } from './simulator.js';

const START = 1_800_000_000_000;
const WEEK = 7 * 24 * 3_600_000;
let now: number;
let stateFile: string;
beforeEach(() => {
  now = START;
  stateFile = join(mkdtempSync(join(tmpdir(), 'volley-simulator-')), 'state.ndjson');
});

async function started(options: SimulatorOptions = {}) {
  const simulator = await startSimulator(
    { keys: [{ key: 'k', quota: 3 }], deliveryTime: 1_000, ...options },
    { clock: () => now, stateFile },
  );
  onTestFinished(() => simulator.close());
  return { simulator, ...requestsTo(simulator) };
}

it('A simulator that restarts answers polls of earlier requests, and gives new requests new ids', async () => {
  const first = await started();
  const id = idOf(await first.send(['+4791000001']));
  await first.simulator.close();
  now += 1_500;
  const second = await started();
  expect(statusesOf(await second.poll(id))).toEqual(['DeliveredToTerminal']);
  const next = idOf(await second.send(['+4791000002']));
  expect(next).not.toBe(id);
  expect([...second.simulator.ledger.entries()].map(({ requestId }) => requestId)).toEqual([id, next]);
  expect(second.simulator.summary()).toMatchObject({ requests: 2, recipients: 2, arrivals: 3 });
});

it('The quota counts the requests from before a restart until they leave its window', async () => {
  const first = await started();
  for (const number of ['+4791000001', '+4791000002', '+4791000003']) await first.send([number]);
  await first.simulator.close();
  now += 3_599_999;
  const second = await started();
  expect(statusOf(await second.send(['+4791000004']))).toBe(429);
  now += 1;
  expect(statusOf(await second.send(['+4791000004']))).toBe(201);
});

it('A known correlator stays known, and a magic recipient takes effect in each run', async () => {
  const options = { keys: [{ key: 'k' }], deduplicates: true };
  const first = await started(options);
  expect(statusOf(await first.send(['+4795550120']))).toBe(500);
  const sent = await first.send(['+4791000001'], { correlator: 'c1' });
  await first.simulator.close();
  const second = await started(options);
  expect(statusOf(await second.send(['+4795550120']))).toBe(500);
  expect(statusOf(await second.send(['+4795550120']))).toBe(201);
  const repeated = await second.send(['+4791000002'], { correlator: 'c1', text: 'Another text' });
  const bodyOf = (result: typeof sent) => (typeof result === 'string' ? result : result.body);
  expect(bodyOf(repeated)).toBe(bodyOf(sent));
});

it('Tokens, used refresh tokens, and failed logins survive a restart', async () => {
  const options = {
    keys: [{ account: 'acme', quota: 9 }],
    accounts: [{ username: 'acme', password: 'right' }],
    tokens: { lockoutAfter: 2 },
  };
  const login = (simulator: Simulator, password: string) =>
    exchange(
      simulator.accountBaseUrl,
      `POST /api/login HTTP/1.1\nHost: sim\nX-Requested-With: XMLHttpRequest\nContent-Type: application/json\nContent-Length: *\n\n${JSON.stringify({ username: 'acme', password })}`,
      5_000,
    );
  const refresh = (simulator: Simulator, token: string) =>
    exchange(
      simulator.accountBaseUrl,
      `GET /api/RefreshToken HTTP/1.1\nHost: sim\nX-Requested-With: XMLHttpRequest\nContent-Type: application/json\nX-Authorization: Bearer ${token}\n\n`,
      5_000,
    );
  const first = await started(options);
  const granted = await login(first.simulator, 'right');
  const tokens = JSON.parse(typeof granted === 'string' ? '' : granted.body);
  await login(first.simulator, 'wrong');
  expect(statusOf(await refresh(first.simulator, tokens.RefreshToken))).toBe(200);
  await first.simulator.close();

  const second = await started(options);
  expect(statusOf(await second.send(['+4791000001'], { key: tokens.AccessToken }))).toBe(201);
  await login(second.simulator, 'wrong');
  const blocked = await login(second.simulator, 'right');
  expect(typeof blocked === 'string' ? '' : blocked.body).toContain('account blocked');
  expect(statusOf(await refresh(second.simulator, tokens.RefreshToken))).toBe(401);
  expect(statusOf(await second.send(['+4791000001'], { key: tokens.AccessToken }))).toBe(401);
});

it('A subscription, and the notifications that were still due, survive a restart', async () => {
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    request.on('data', (part) => received.push(...(String(part).match(/DeliveredTo\w+/g) ?? [])));
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const { port } = receiver.address() as AddressInfo;
  const body = `{"callback":{"url":"http://127.0.0.1:${port}/in","securityToken":"s3cret"}}`;
  const subscription = (simulator: Simulator, method: string, more = '') =>
    exchange(
      simulator.accountBaseUrl,
      `${method} /smsmessaging/v1/outbound/subscriptions HTTP/1.1\nHost: sim\nAuthorization: Bearer k\n${more}\n`,
      5_000,
    );
  const first = await started({ deliveryTime: 60_000 });
  const create = `Content-Type: application/json\nContent-Length: *\n\n${body}`;
  expect(statusOf(await subscription(first.simulator, 'POST', create))).toBe(201);
  await first.send(['+4791000001']);
  await expect.poll(() => received).toEqual(['DeliveredToNetwork']);
  await first.simulator.close();

  now += 60_000;
  const second = await started({ deliveryTime: 60_000 });
  expect(statusOf(await subscription(second.simulator, 'GET'))).toBe(200);
  await vi.waitFor(() => expect(received).toEqual(['DeliveredToNetwork', 'DeliveredToTerminal']), SOON);
});

it('What was cleared stays cleared', async () => {
  const first = await started();
  const id = idOf(await first.send(['+4791000001']));
  first.simulator.clear();
  await first.simulator.close();
  const second = await started();
  expect(second.simulator.summary()).toMatchObject({ requests: 0, arrivals: 0 });
  expect(statusOf(await second.poll(id))).toBe(404);
  expect(idOf(await second.send(['+4791000001']))).not.toBe(id);
});

it('The state file is private, and forgets what is older than a week', async () => {
  const first = await started();
  const old = idOf(await first.send(['+4791000001']));
  now += 1_000;
  const kept = idOf(await first.send(['+4791000002']));
  await first.simulator.close();
  expect(statSync(stateFile).mode & 0o777).toBe(0o600);
  now = START + WEEK + 1;
  const second = await started();
  expect(readFileSync(stateFile, 'utf8')).not.toContain('4791000001');
  expect(statusOf(await second.poll(old))).toBe(404);
  expect(statusesOf(await second.poll(kept))).toEqual(['DeliveredToTerminal']);
});

it('A line that a killed machine cut off is left out', async () => {
  const first = await started();
  const id = idOf(await first.send(['+4791000001']));
  await first.simulator.close();
  appendFileSync(stateFile, '{"kind":"accepted","at":18');
  const second = await started();
  now += 1_000;
  expect(statusesOf(await second.poll(id))).toEqual(['DeliveredToTerminal']);
});
