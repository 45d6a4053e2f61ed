import { describe, expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, startSimulator } = scene('cli-conformance');
const simulator = await startSimulator({ keys: [{ key: 'key' }] });
const other = await startSimulator({ keys: [{ key: 'key' }], correlatorInReply: 'none' });
const { volley, json } = shell({ MESSAGING_BASE_URL: simulator.messagingBaseUrl, API_KEY: 'key' });

describe('volley conformance', () => {
  test('shows each check, what the documentation does not show, and the counts; by default it sends nothing', async () => {
    const { exit, stdout } = await volley('conformance');
    expect(exit).toBe(0);
    expect(stdout).toContain(
      'ok    Area A, subscription: GET /outbound/subscriptions\n      404, application/json: ',
    );
    expect(stdout).toContain(
      'skip  Area B, login and tokens: POST /api/login\n      the lane default has no account\n',
    );
    expect(stdout).toContain(
      '\nWhat the documentation of the service does not show:\n      what Authorization and X-Authorization carry: accepts the API key alone\n      → For the lane: authorization: apiKey, xAuthorization: none.\n',
    );
    expect(stdout).toContain('      which fields contain the request id: not seen. To see it: --to.\n');
    expect(stdout).toMatch(/\n\n6 passed, 0 failed, 2 skipped\.\n$/);
    expect(simulator.summary().requests).toBe(0);
  });

  test('prints one JSON object', async () => {
    const { exit, output } = await json('conformance');
    expect(exit).toBe(0);
    expect(output).toMatchObject({
      ok: true,
      passed: 6,
      failed: 0,
      skipped: 2,
      checks: expect.arrayContaining([
        {
          name: 'GET /outbound/subscriptions',
          section: 'Area A, subscription',
          result: 'passed',
          expected: '200 with the callback, or 404 if there is no subscription',
          found: '404, application/json: {"message":"no subscription found"}',
        },
      ]),
      ways: expect.arrayContaining([
        { topic: 'how long tokens last', found: null, advice: expect.any(String) },
      ]),
    });
  });

  test('writes nothing without --yes where it cannot ask', async () => {
    for (const [writing, what] of [
      [['--to', '+4791000001', '--sender', 'ACME'], 'send a message to +4791000001 from ACME'],
      [
        ['--subscribe', 'https://hook.example/x'],
        'create a subscription with https://hook.example/x and delete it',
      ],
      [['--login'], 'log in to the account'],
    ] as const) {
      const { exit, stderr } = await volley('conformance', ...writing);
      expect(exit).toBe(2);
      expect(stderr).toContain(`cannot ask whether to ${what}. Add --yes`);
    }
    expect(simulator.summary()).toMatchObject({ requests: 0, notifications: 0 });
  });

  test('tests another service with --base-url, and exits with 1 if it fails a check', async () => {
    const { exit, stdout } = await volley(
      'conformance',
      '--base-url',
      other.messagingBaseUrl,
      '--to',
      '+4791000001',
      '--sender',
      'ACME',
      '--yes',
    );
    expect(exit).toBe(1);
    expect(stdout).toMatch(
      /\nfail {2}Area A, send message: POST a message\n {6}expected {2}201 .+\n {6}found {5}outboundSMSMessageRequest must have required property 'clientCorrelator'; the service answered 201, /,
    );
    expect(stdout).not.toContain('+4791000001');
    expect([simulator.summary().requests, other.summary().requests]).toEqual([0, 1]);
    const audit = await json('audit', '--limit', '1');
    expect(audit.output).toMatchObject({
      entries: [{ action: 'conformance.test', details: { baseUrl: other.messagingBaseUrl, messages: 1 } }],
    });
  });

  test('needs a sender for a message', async () => {
    const { exit, stderr } = await volley('conformance', '--to', '+4791000001', '--yes');
    expect([exit, stderr]).toEqual([2, expect.stringContaining('use --sender, or set SENDER_ADDRESS.')]);
  });
});
