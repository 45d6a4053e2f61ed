import { expect, it } from 'vitest';
import { QUOTA_MODELS } from '../../../src/tools/simulator/rules/quota-models.js';
import { idOf, simulatorUnderTest, statusOf } from './simulator.js';

it.each(QUOTA_MODELS)(
  'The simulator enforces a quota of 3 per minute in the model %s, however the requests end',
  async (model) => {
    let now = 1_800_000_000_000;
    const keys = [{ key: 'k', quota: 3, model, windowMs: 60_000 }];
    const { simulator, send, poll } = await simulatorUnderTest({ keys }, { clock: () => now });
    const sent = await send(['+4791234567']);
    simulator.configure({ faults: { error500: 1 } });
    expect(statusOf(await send(['+4791234567']))).toBe(500);
    expect(statusOf(await poll(idOf(sent)))).toBe(200);
    expect(statusOf(await poll(idOf(sent)))).toBe(429);
    simulator.configure({ faults: { error500: 0 } });
    now += 60_000;
    expect(statusOf(await send(['+4791234567']))).toBe(201);
    expect(simulator.summary()).toMatchObject({
      requests: 2,
      throttled: 1,
      polls: 1,
      maxPerWindow: [{ key: 'k', quota: 3, windowMs: 60_000, admitted: 3, arrived: 4 }],
    });
    expect(Array.from(simulator.arrivals(), ({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      'send accepted',
      'send error',
      'poll infos',
      'poll quotaExceeded',
      'send accepted',
    ]);
  },
);

it('A quota restarts its count only if its settings change', async () => {
  const { simulator, send } = await simulatorUnderTest({ keys: [{ key: 'k', quota: 1 }] });
  expect(statusOf(await send(['+4791234567']))).toBe(201);
  simulator.configure({ keys: [{ key: 'k', quota: 1 }, { key: 'another' }] });
  expect(statusOf(await send(['+4791234567']))).toBe(429);
  expect(statusOf(await send(['+4791234567'], { key: 'another' }))).toBe(201);
  simulator.configure({ keys: [{ key: 'k', quota: 2 }] });
  expect(statusOf(await send(['+4791234567']))).toBe(201);
  expect(statusOf(await send(['+4791234567'], { key: 'another' }))).toBe(401);
});

it('The simulator sends Retry-After in seconds or as a date if configured', async () => {
  const now = 1_800_000_000_000;
  const keys = [{ key: 'k', quota: 1, windowMs: 90_500 }];
  const { simulator, send } = await simulatorUnderTest(
    { keys, quotaRetryAfter: 'seconds' },
    { clock: () => now },
  );
  await send(['+4791234567']);
  const headerOf = async () => {
    const refused = await send(['+4791234567']);
    return typeof refused === 'string' ? refused : refused.headers.get('retry-after');
  };
  expect(await headerOf()).toBe('91');
  simulator.configure({ quotaRetryAfter: 'date' });
  expect(await headerOf()).toBe(new Date(now + 91_000).toUTCString());
});

it('A deduplicating simulator answers a repeated correlator with the first reply and sends nothing', async () => {
  const { simulator, send } = await simulatorUnderTest({ deduplicates: true, faults: { acceptAndHang: 1 } });
  expect(await send(['+4791234567'], { correlator: 'c-1', patienceMs: 1_000 })).toBe('silence');
  const again = await send(['+4791234567'], { correlator: 'c-1' });
  expect(statusOf(again)).toBe(201);
  expect(Array.from(simulator.ledger.entries(), ({ requestId }) => requestId)).toEqual([idOf(again)]);
  const other = await send(['+4790000001', '+4790000002'], { correlator: 'c-1', text: 'Another text' });
  const bodyOf = (result: typeof again) => (typeof result === 'string' ? result : result.body);
  expect(bodyOf(other)).toBe(bodyOf(again));
  simulator.configure({ deduplicates: false, faults: { acceptAndHang: 0 } });
  await send(['+4791234567'], { correlator: 'c-1' });
  expect(simulator.summary()).toMatchObject({ requests: 2, duplicates: 1 });
});

it.each([
  ['both', true, true],
  ['location', true, false],
  ['body', false, true],
  ['none', false, false],
] as const)(
  'The reply contains the request id according to requestIdIn: %s',
  async (requestIdIn, inHeader, inBody) => {
    const { send } = await simulatorUnderTest({ requestIdIn });
    const sent = await send(['+4791234567']);
    if (typeof sent === 'string') expect.fail(sent);
    expect(sent.headers.has('location')).toBe(inHeader);
    expect(sent.body.includes('/requests/')).toBe(inBody);
  },
);

it('A request with more than maxRecipients addresses gets a 400', async () => {
  const { send } = await simulatorUnderTest({ maxRecipients: 2 });
  expect(statusOf(await send(['+4791234561', '+4791234562']))).toBe(201);
  expect(statusOf(await send(['+4791234561', '+4791234562', '+4791234563']))).toBe(400);
});
