import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, it } from 'vitest';
import { simulatorUnderTest, statusOf } from './simulator.js';

it('The simulator serves its ledger and arrivals over HTTP and clears them on request', async () => {
  const { simulator, send } = await simulatorUnderTest({}, { clock: () => 1_800_000_000_000 });
  await send(['+4791234567', '+4791234568'], { text: 'Hi "you"\n🎉', correlator: 'c-1' });
  await send(['+4791234567'], { key: 'unknown' });
  const at = (path: string, init?: RequestInit) =>
    fetch(`${simulator.accountBaseUrl}/_simulator/${path}`, init);
  const lines = async (path: string) => {
    const body = await (await at(path)).text();
    return body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  };
  expect(await lines('ledger')).toEqual([
    {
      at: 1_800_000_000_000,
      key: 'k',
      requestId: expect.any(String),
      sender: 'ACME',
      senderName: null,
      recipients: ['+4791234567', '+4791234568'],
      text: 'Hi "you"\n🎉',
      correlator: 'c-1',
      callbackData: null,
      answered: 'answered',
      finals: ['DeliveredToTerminal', 'DeliveredToTerminal'],
    },
  ]);
  expect(await lines('arrivals')).toEqual([
    { at: 1_800_000_000_000, key: 'k', kind: 'send', outcome: 'accepted' },
    { at: 1_800_000_000_000, key: '', kind: 'send', outcome: 'unauthorised' },
  ]);
  expect(await (await at('summary')).json()).toEqual(simulator.summary());
  expect((await at('ledger', { method: 'DELETE' })).status).toBe(204);
  expect([await lines('ledger'), await lines('arrivals')]).toEqual([[], []]);
  expect((await at('nothing')).status).toBe(404);
});

it('The simulator records the content of every request with the option wholeArrivals', async () => {
  const { simulator, send, poll } = await simulatorUnderTest({
    wholeArrivals: true,
    keys: [{ key: 'k', quota: 1 }],
  });
  await send(['+4791234567']);
  await send(['+4791234568'], { text: 'refused' });
  await poll('r-1');
  expect(Array.from(simulator.arrivals(), ({ at: _, key: __, ...arrival }) => arrival)).toEqual([
    { kind: 'send', outcome: 'accepted', text: 'Hi', recipients: ['+4791234567'] },
    { kind: 'send', outcome: 'quotaExceeded', text: 'refused', recipients: ['+4791234568'] },
    { kind: 'poll', outcome: 'quotaExceeded', requestId: 'r-1' },
  ]);
});

it('The simulator can be configured over HTTP and reports invalid options', async () => {
  const { simulator, send } = await simulatorUnderTest();
  const configure = (body: string) =>
    fetch(`${simulator.accountBaseUrl}/_simulator/configure`, { method: 'POST', body });
  expect((await configure('{"faults":{"error503":1}}')).status).toBe(200);
  expect(statusOf(await send(['+4791234567']))).toBe(503);
  const refused = await configure('{"faults":{"error504":1}}');
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain('faults');
  expect((await configure('{')).status).toBe(400);
});

it('The simulator streams a large ledger completely', async () => {
  const { simulator } = await simulatorUnderTest();
  for (let index = 0; index < 5_000; index += 1) {
    simulator.ledger.accept({
      at: index,
      key: 'k',
      sender: 'ACME',
      senderName: 'Acme',
      text: `Hi ${index}`,
      parts: 1,
      correlator: undefined,
      callbackData: undefined,
      senderAddress: 'ACME',
      notifyUrl: undefined,
      asynchronous: false,
      finalDelivery: undefined,
      version: 'v1',
      answered: 'answered',
      pollable: true,
      recipients: [4_740_000_000 + index],
      fates: [{ delayMs: 0, final: 'delivered' }],
    });
  }
  const body = await (await fetch(`${simulator.accountBaseUrl}/_simulator/ledger`)).text();
  const entries = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(entries).toHaveLength(5_000);
  expect(entries.at(-1)).toMatchObject({
    at: 4_999,
    recipients: ['+4740004999'],
    text: 'Hi 4999',
    senderName: 'Acme',
  });
});

it('Closing the simulator waits for pending replies, and for hanging ones up to the given time', async () => {
  const { simulator, send } = await simulatorUnderTest({ latency: 100 });
  const sent = send(['+4791234567']);
  await expect.poll(() => simulator.ledger.requests).toBe(1);
  await simulator.close(1_000);
  expect(statusOf(await sent)).toBe(201);

  const hanging = await simulatorUnderTest({ faults: { acceptAndHang: 1 } });
  const hung = hanging.send(['+4791234567']);
  await expect.poll(() => hanging.simulator.ledger.requests).toBe(1);
  await hanging.simulator.close(50);
  expect(await hung).not.toBe('silence');
});

it('The simulator process prints one JSON line when it listens and ends on SIGTERM', async () => {
  // `npm test` compiles the sources first.
  const main = new URL('../../../dist/src/tools/simulator/main.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [
    main,
    '--port',
    '0',
    '--options',
    '{"keys":[{"key":"k","quota":7}]}',
  ]);
  const [line] = await once(child.stdout, 'data');
  const { messagingBaseUrl, accountBaseUrl } = JSON.parse(String(line));
  expect(messagingBaseUrl).toBe(`${accountBaseUrl}/smsmessaging/v1`);
  const summary = await (await fetch(`${accountBaseUrl}/_simulator/summary`)).json();
  expect(summary).toMatchObject({ requests: 0, maxPerWindow: [{ key: 'k', quota: 7 }] });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it('Off the loopback interface, the control interface requires a token; the interfaces of the service do not', async () => {
  const { simulator, send } = await simulatorUnderTest({ host: '0.0.0.0' });
  const at = (headers: Record<string, string> = {}) =>
    fetch(`${simulator.accountBaseUrl}/_simulator/ledger`, { headers });
  expect(statusOf(await send(['+4791234567']))).toBe(201);
  expect((await at()).status).toBe(401);
  expect((await at({ authorization: `Bearer ${simulator.controlToken}x` })).status).toBe(401);
  const ledger = await at({ authorization: `Bearer ${simulator.controlToken}` });
  expect([ledger.status, await ledger.text()]).toEqual([200, expect.stringContaining('+4791234567')]);
  const { simulator: chosen } = await simulatorUnderTest({
    host: '0.0.0.0',
    controlToken: 'chosen-by-the-user',
  });
  expect(chosen.controlToken).toBe('chosen-by-the-user');
  const { simulator: local } = await simulatorUnderTest();
  expect([local.controlToken, (await fetch(`${local.accountBaseUrl}/_simulator/summary`)).status]).toEqual([
    undefined,
    200,
  ]);
});

it('The simulator answers no request that a web page may have caused', async () => {
  const { simulator } = await simulatorUnderTest({ allowedHosts: ['simulator.example'] });
  const statusOfRequest = async (path: string, headers: Record<string, string>) => {
    const sent = request(new URL(path, simulator.accountBaseUrl), { headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  for (const path of [
    '/_simulator/summary',
    '/smsmessaging/v1/outbound/subscriptions',
    '/api/RefreshToken',
  ]) {
    expect([path, await statusOfRequest(path, { host: 'attacker.example' })]).toEqual([path, 421]);
    expect([path, await statusOfRequest(path, { host: 'simulator.example' })]).not.toEqual([path, 421]);
  }
  const origin = 'https://attacker.example';
  expect(await statusOfRequest('/_simulator/summary', { origin })).toBe(403);
});
