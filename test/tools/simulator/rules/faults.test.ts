import { expect, it } from 'vitest';
import { SimulatorOptionsError, startSimulator } from '../../../../src/tools/simulator/index.js';
import { drawFault, SEND_FAULTS } from '../../../../src/tools/simulator/rules/faults.js';
import { seededRandom } from '../../../../src/tools/simulator/rules/random.js';
import { exchange } from '../raw-http.js';
import { idOf, simulatorUnderTest, statusOf } from '../simulator.js';

it('Faults occur with their probabilities, at most one per request, and at the same requests for the same seed', () => {
  const probabilities = { throttle: 0.1, hang: 0.05, resetAfter: 0.2 };
  const run = (seed: number) => {
    const random = seededRandom(seed);
    return Array.from({ length: 20_000 }, () => drawFault(probabilities, random));
  };
  const drawn = run(7);
  for (const [fault, probability] of Object.entries(probabilities)) {
    expect(drawn.filter((each) => each === fault).length / drawn.length).toBeCloseTo(probability, 2);
  }
  expect(run(7)).toEqual(drawn);
  expect(run(8)).not.toEqual(drawn);
});

it('No random number is drawn while all fault probabilities are zero', () => {
  const random = () => expect.fail('drew a random number');
  expect(drawFault<string>({ throttle: 0 }, random)).toBeUndefined();
});

it('Sends can meet every fault, and the ledger shows which of them were accepted', async () => {
  const { simulator, send } = await simulatorUnderTest();
  const ends: Record<string, unknown> = {};
  for (const fault of SEND_FAULTS) {
    simulator.clear();
    simulator.configure({
      faults: { ...Object.fromEntries(SEND_FAULTS.map((name) => [name, 0])), [fault]: 1 },
    });
    const status = statusOf(await send(['+4791234567'], { patienceMs: /hang/i.test(fault) ? 1_000 : 5_000 }));
    ends[fault] = [status, ...Array.from(simulator.ledger.entries(), ({ answered }) => answered)];
  }
  expect(ends).toEqual({
    throttle: [429],
    throttleSeconds: [429],
    throttleDate: [429],
    error500: [500],
    error503: [503],
    error500After: [500, 'error500'],
    forbid: [403],
    resetBefore: ['reset'],
    resetAfter: ['reset', 'reset'],
    hang: ['silence'],
    acceptAndHang: ['silence', 'never'],
    unreadable: [201, 'unreadable'],
    withoutRequestId: [201, 'withoutRequestId'],
  });
});

it.each([
  ['throttle', 429],
  ['error500', 500],
  ['error503', 503],
  ['forbid', 403],
  ['notFound', 404],
  ['reset', 'reset'],
  ['hang', 'silence'],
  ['unreadable', 200],
] as const)('A poll can meet the fault %s', async (fault, end) => {
  const { simulator, send, poll } = await simulatorUnderTest({ pollFaults: { [fault]: 1 } });
  const id = idOf(await send(['+4791234567']));
  expect(statusOf(await poll(id, end === 'silence' ? 200 : 5_000))).toBe(end);
  simulator.configure({ pollFaults: { [fault]: 0 } });
  expect(statusOf(await poll(id))).toBe(200);
});

it.each([
  ['error500', 500, 0],
  ['resetBefore', 'reset', 0],
  ['resetAfter', 'reset', 1],
  ['hang', 'silence', 0],
  ['unreadable', 200, 1],
  ['loginTimeout', 401, 0],
] as const)('A login can meet the fault %s', async (fault, end, granted) => {
  const accounts = [{ username: 'acme', password: 'secret' }];
  const { simulator } = await simulatorUnderTest({
    accounts,
    accountFaults: { [fault]: 1 },
    tokens: { lockoutAfter: 1 },
  });
  const login = (patienceMs = 5_000) =>
    exchange(
      simulator.accountBaseUrl,
      'POST /api/login HTTP/1.1\nHost: sim\nContent-Type: application/json\nX-Requested-With: XMLHttpRequest\nContent-Length: *\n\n{"username":"acme","password":"secret"}',
      patienceMs,
    );
  const met = await login(end === 'silence' ? 1_000 : 5_000);
  expect(statusOf(met)).toBe(end);
  if (fault === 'loginTimeout' && typeof met !== 'string') expect(met.body).toMatch(/10126.*timeout/);
  expect(simulator.summary()).toMatchObject({ logins: 1, loginsGranted: granted });
  simulator.configure({ accountFaults: { [fault]: 0 } });
  expect(statusOf(await login())).toBe(200);
});

it('A request that arrives after its client has disconnected is accepted', async () => {
  const { simulator, send } = await simulatorUnderTest({ arrivalDelay: 150 });
  expect(await send(['+4791234567'], { patienceMs: 50 })).toBe('silence');
  expect(simulator.ledger.requests).toBe(0);
  await expect.poll(() => simulator.ledger.requests).toBe(1);
});

it('A request is accepted on arrival and answered after the latency', async () => {
  const { simulator, send } = await simulatorUnderTest({
    latency: { kind: 'uniform', minMs: 500, maxMs: 550 },
  });
  const started = performance.now();
  let answered = false;
  const sent = send(['+4791234567']).finally(() => {
    answered = true;
  });
  await expect.poll(() => simulator.ledger.requests, { interval: 5 }).toBe(1);
  expect(answered).toBe(false);
  expect(statusOf(await sent)).toBe(201);
  expect(performance.now() - started).toBeGreaterThanOrEqual(499);
});

it('Invalid options are rejected together, each by name', async () => {
  const options = {
    keys: [{ key: 'a', quota: -1 }],
    faults: { throttle: 0.7, hang: 0.7 },
    latency: { kind: 'fixed' },
    hots: 'typo',
  };
  const error = await startSimulator(options as never).catch((caught: Error) => caught);
  expect(error).toBeInstanceOf(SimulatorOptionsError);
  const named = String(error).match(/^ {2}[\w.[\]]+(?=:)/gm);
  expect(named).toEqual(['  keys[0].quota', '  latency.ms', '  faults', '  options']);
});

it('An invalid change throws and leaves the options unchanged', async () => {
  const { simulator, send } = await simulatorUnderTest();
  expect(() => simulator.configure({ faults: { error500: 2 } })).toThrow('faults.error500');
  expect(() => simulator.configure({ port: 1 })).toThrow('port: cannot be changed');
  expect(statusOf(await send(['+4791234567']))).toBe(201);
});
