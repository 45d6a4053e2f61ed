import { describe, expect, test } from 'vitest';
import type { SimulatorOptions } from '../../../src/tools/simulator/index.js';
import { startSimulator } from '../../scene/closing.js';
import { closedPort } from '../raw-server.js';
import { ACCOUNT, ALL, SENDER, servicesTested, TO } from './conformance-run.js';

const { tested, simulated } = servicesTested('conformance');
const accounts = [{ username: 'ann', password: 'secret' }];
const HEADERS = 'what Authorization and X-Authorization carry';

describe('A conformance test of the simulator', () => {
  test('passes, and shows which ways the simulator takes', async () => {
    const { failed, skipped, ways, simulator } = await simulated({}, undefined, {
      ...ALL,
      send: { to: TO, sender: SENDER, twice: true },
    });
    expect(failed).toEqual({});
    expect(skipped).toEqual(['POST /api/login', 'GET /api/RefreshToken']);
    expect(ways).toEqual({
      [HEADERS]: 'accepts the API key alone',
      'the bodies of errors': '400: JSON with message; 401: JSON with message; 404: JSON with message',
      'one subscription per key, or one for all': null,
      'whether a subscription shows its security token': 'it is shown',
      'the response to a second subscription': '406, JSON with message',
      'the response to a subscription without a key': '401, JSON with message',
      'which fields contain the request id': 'in the body and Location',
      'the address in resourceURL':
        'to https://messaging.example/smsmessaging/v1, not to the base URL of the test',
      'which spellings of the sender the path accepts':
        'percent-encoded, or with : + and punctuation as they are',
      'whether a response repeats the clientCorrelator': 'it repeats that of the request',
      'whether a repeated clientCorrelator sends twice': 'it sends a second message',
      'the Retry-After of a 429': null,
      'headers that name the quota': 'there are none',
      'how a notification differs from a poll': null,
      'where a notification has the security token': null,
      'how long tokens last': null,
    });
    expect(simulator.summary()).toMatchObject({ requests: 2 });
  });

  test('sends and changes nothing unless an option allows it', async () => {
    const { failed, simulator } = await simulated({}, undefined, {});
    expect(failed).toEqual({});
    const kinds = [...simulator.arrivals()].map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['subscription', 'poll']));
    expect(simulator.summary()).toMatchObject({ requests: 0 });
  });

  test.each([
    ['key', { API_KEY: 'k' }, 'accepts the API key alone'],
    ['token', ACCOUNT, 'accepts the access token alone, and the access token in both headers'],
    [
      'both',
      { API_KEY: 'k', ...ACCOUNT, AUTHORIZATION_HEADER: 'apiKey', X_AUTHORIZATION_HEADER: 'accessToken' },
      'accepts the API key with the access token in X-Authorization; refuses the API key alone (401), and the access token alone (401), and the access token in both headers (401)',
    ],
  ] as const)('shows which headers it accepts: %s', async (accepts, env, headers) => {
    const { failed, ways } = await simulated({ accepts, accounts }, env);
    expect(failed).toEqual({});
    expect(ways[HEADERS]).toBe(headers);
    expect(ways['how long tokens last']).toBe(
      accepts === 'key' ? null : 'the access token lasts 15m, the refresh token lasts 30d',
    );
  });

  test.each([
    ['key', 'the lanes one and two have one each'],
    ['client', 'the lanes one and two have the same one'],
  ] as const)('shows whether there is one subscription per %s', async (subscriptionPer, found) => {
    const lanes = [
      { name: 'one', apiKey: 'k' },
      { name: 'two', apiKey: 'other' },
    ];
    const { failed, ways } = await simulated({ subscriptionPer }, {}, { ...ALL, lane: 'one' }, lanes);
    expect(failed).toEqual({});
    expect(ways['one subscription per key, or one for all']).toBe(found);
  });

  test('shows errors of the OneAPI family, a repeated request that is not sent again, and the callback in a 406', async () => {
    const { failed, ways, simulator } = await simulated(
      { errorBody: 'oneApi', deduplicates: true, notAcceptableBody: 'callback', subscriptionWithoutKey: 400 },
      undefined,
      { ...ALL, send: { to: TO, sender: SENDER, twice: true } },
    );
    expect(failed).toEqual({});
    expect(ways).toMatchObject({
      'the bodies of errors':
        '400: OneAPI error (SVC0002); 401: OneAPI error (POL0001); 404: OneAPI error (SVC0002)',
      'whether a repeated clientCorrelator sends twice': 'it returns the first request',
      'the response to a second subscription': '406, the callback that exists',
      'the response to a subscription without a key': '400, OneAPI error (SVC0002)',
    });
    expect(simulator.summary()).toMatchObject({ requests: 1 });
  });

  test.each(['text', 'html', 'none'] as const)('accepts errors of any form: %s', async (errorBody) => {
    expect((await simulated({ errorBody })).failed).toEqual({});
  });

  test('fails if the correlator is omitted, which the documentation says is there', async () => {
    const { failed, ways } = await simulated({ correlatorInReply: 'none' });
    expect(failed).toEqual({
      'POST a message': expect.stringContaining("must have required property 'clientCorrelator'"),
    });
    expect(ways['whether a response repeats the clientCorrelator']).toBe(
      'there is none in the response; the request had none',
    );
  });

  test.each(['interrupted', 'left'] as const)('deletes its subscription if it is %s', async (how) => {
    const { volley, simulator } = await simulated({}, undefined, {});
    const control = new AbortController();
    for await (const result of volley.conformance({ ...ALL, signal: control.signal })) {
      if (result.kind !== 'check' || result.name !== 'POST /outbound/subscriptions') continue;
      expect(result.result).toBe('passed');
      if (how === 'left') break;
      control.abort();
    }
    const response = await fetch(`${simulator.messagingBaseUrl}/outbound/subscriptions`, {
      headers: { authorization: 'Bearer k' },
    });
    expect(response.status).toBe(404);
    expect(simulator.summary().requests).toBe(0);
  });

  test('leaves a subscription alone that exists', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }] });
    const subscribe = async (): Promise<number> => {
      const response = await fetch(`${simulator.messagingBaseUrl}/outbound/subscriptions`, {
        method: 'POST',
        headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
        body: JSON.stringify({ callback: { url: 'https://other.example/', securityToken: 's' } }),
      });
      return response.status;
    };
    expect(await subscribe()).toBe(201);
    const { failed, skipped } = await tested(simulator, { API_KEY: 'k' });
    expect(failed).toEqual({});
    expect(skipped).toContain('POST /outbound/subscriptions');
    expect(await subscribe()).toBe(406);
  });
});

describe('The requests of a conformance test', () => {
  test('take permits of the lane, and stop when its quota is used', async () => {
    const { skipped, checks, simulator, volley } = await simulated(
      { keys: [{ key: 'k', quota: 4 }] },
      { API_KEY: 'k', HOURLY_QUOTA: '4' },
    );
    expect(simulator.summary()).toMatchObject({ throttled: 0 });
    expect(skipped).toContain('POST a message');
    expect(checks.find(({ name }) => name === 'POST a message')?.found).toMatch(/quota/);
    expect(await volley.lanes()).toMatchObject([{ quota: { used: { send: 0, poll: 4 } } }]);
  });

  test('let the lane back off if the service answers 429, whose Retry-After is shown', async () => {
    const { failed, ways, volley } = await simulated({
      keys: [{ key: 'k', quota: 0 }],
      quotaRetryAfter: 'seconds',
    });
    expect(failed).toEqual({});
    expect(ways['the Retry-After of a 429']).toBe('in seconds');
    expect(await volley.lanes()).toMatchObject([{ state: 'backingOff', throttled: 1 }]);
  });

  test('are not sent from a lane that an operator holds', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }] });
    const { volley } = await tested(simulator, { API_KEY: 'k' }, {});
    await volley.holdLane('default');
    const before = simulator.summary();
    const found: string[] = [];
    for await (const result of volley.conformance(ALL))
      if (result.kind === 'check' && result.name.includes('unknown request')) found.push(result.found);
    expect(new Set(found)).toEqual(new Set(['the lane default is held by an operator']));
    expect(simulator.summary()).toEqual(before);
  });

  test('keep the tokens of another account service apart', async () => {
    const other = await startSimulator({ accounts });
    const { messagingBaseUrl: baseUrl, accountBaseUrl } = other;
    const { failed, checks, volley } = await simulated({}, ACCOUNT, { baseUrl, accountBaseUrl });
    expect(failed).toEqual({});
    expect(checks.find(({ name }) => name === 'POST /api/login')?.result).toBe('passed');
    expect(await volley.token('default')?.show()).toMatchObject({ state: 'none', login: { proven: false } });
  });

  test('are not sent to a suppressed number', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }] });
    const { volley } = await tested(simulator, { API_KEY: 'k' }, {});
    await volley.suppression.add([TO]);
    const repeated = async (): Promise<void> => {
      for await (const _ of volley.conformance(ALL));
    };
    await expect(repeated()).rejects.toThrow('the number is on a suppression list');
  });
});

describe('The notifications of a conformance test', () => {
  const DIFFERENCE = 'how a notification differs from a poll';
  const PLACE = 'where a notification has the security token';
  const listening = async (simulatorOptions: SimulatorOptions, wait = '10s') => {
    const url = `http://127.0.0.1:${await closedPort()}/in`;
    const to = [TO, '+4791000002'];
    const options = { send: { to, sender: SENDER }, listen: { url, wait } };
    const found = await simulated({ deliveryTime: 50, ...simulatorOptions }, undefined, options);
    return {
      ...found,
      url,
      notified: found.checks.find(({ name }) => name === 'Notifications of the message'),
    };
  };

  test('are recorded and checked while the subscription exists, which is deleted afterwards', async () => {
    const { failed, notified, checks, ways } = await listening({});
    expect(failed).toEqual({});
    expect(notified).toMatchObject({ result: 'passed', found: '4 for 2 recipients' });
    expect(checks.find(({ name }) => name.endsWith('after its notifications'))?.result).toBe('passed');
    expect(checks.find(({ name }) => name === 'GET /outbound/subscriptions, deleted')?.result).toBe('passed');
    expect(ways).toMatchObject({
      [DIFFERENCE]: 'POST, with what a poll returns',
      [PLACE]: 'in the header securitytoken',
    });
  });

  test.each<[string, SimulatorOptions['notifications'], RegExp]>([
    ['lost', { loss: 1 }, /^no notification arrived$/],
    [
      'repeated',
      { duplicates: 1 },
      /^DeliveredToNetwork of a recipient arrived twice; the first came by POST, /,
    ],
  ])('fail if they are %s, and show no secret', async (_fault, notifications, problem) => {
    const { failed, checks, ways, url } = await listening({ notifications }, '1s');
    expect(Object.keys(failed)).toEqual(['Notifications of the message']);
    expect(failed['Notifications of the message']).toMatch(problem);
    for (const secret of [TO, '4790000001', url, 'conformance-'])
      expect(JSON.stringify([checks, ways])).not.toContain(secret);
  });

  test('show where they differ from a poll, and have their token', async () => {
    const { failed, ways } = await listening({
      notifications: { shape: 'unwrapped', securityTokenIn: 'body' },
    });
    expect(failed).toEqual({});
    expect(ways[DIFFERENCE]).toContain('it adds resourceURL; ');
    expect(ways[DIFFERENCE]).toContain('it adds securityToken; ');
    expect(ways[PLACE]).toBe('in the body');
  });

  test('need an http address of this machine, and a message', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }] });
    const send = { to: TO, sender: SENDER };
    await expect(
      tested(simulator, { API_KEY: 'k' }, { send, listen: { url: 'https://a.example/' } }),
    ).rejects.toThrow('`listen` must be an http address on this machine');
    await expect(
      tested(simulator, { API_KEY: 'k' }, { listen: { url: 'http://127.0.0.1:9/' } }),
    ).rejects.toThrow('send one with it');
    expect(simulator.summary().arrivals).toBe(0);
  });
});
