import { afterAll, beforeEach, expect, test } from 'vitest';
import { createSubscriptionClient } from '../../../../src/service/client/subscriptions.js';
import { scene } from '../../../scene/scene.js';

const { shell, startSimulator } = scene('cli-subscription', { settings: { API_KEY: 'key' } });
const { messagingBaseUrl, settings: service } = await startSimulator();
const callback = {
  CALLBACK_URL: 'https://volley.example/in',
  CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
};
const { volley, json } = shell({ ...service, ...callback });

const client = createSubscriptionClient({ baseUrl: messagingBaseUrl, timeoutMs: 1_000 });
afterAll(() => client.close());
const FOREIGN = { url: 'https://other.example/hook/their-secret', securityToken: 'theirs' };
beforeEach(async () => {
  await client.remove({ authorization: 'key' });
});

test('A subscription is created, shown, and deleted, and no output contains a secret', async () => {
  expect(await json('subscription', 'get')).toEqual({
    exit: 0,
    output: { lane: 'default', state: 'none', lastNotificationAt: null },
  });
  const made = await volley('subscription', 'create');
  expect([made.exit, made.stdout]).toEqual([0, 'Lane default: subscribed at https://volley.example/in/….\n']);
  const shown = await volley('subscription', 'get');
  expect(shown.stdout).toBe(
    'Lane default: the service sends notifications to https://volley.example/in/…. No notification has arrived yet.\n',
  );
  const there = await client.get({ authorization: 'key' });
  if (there.kind !== 'found') throw new Error(`unexpected: ${there.kind}`);
  expect(there.url).toMatch(/^https:\/\/volley\.example\/in\/[\w-]{43}$/);
  expect(made.stdout + shown.stdout).not.toContain(there.url.slice(-43));
  expect(await json('subscription', 'create')).toMatchObject({ exit: 0, output: { outcome: 'already' } });
  expect(await json('subscription', 'delete')).toMatchObject({ exit: 0, output: { outcome: 'deleted' } });
  expect(await json('subscription', 'delete')).toMatchObject({ exit: 0, output: { outcome: 'none' } });
});

test('Another system’s subscription is left alone, with exit code 3 and the command to replace it', async () => {
  await client.create(FOREIGN, { authorization: 'key' });
  expect(await json('subscription', 'get')).toMatchObject({ exit: 0, output: { state: 'foreign' } });
  const refused = await volley('subscription', 'create');
  expect(refused.exit).toBe(3);
  expect(refused.stdout).toMatch(/another system’s .*https:\/\/other\.example\/hook\/….*--force/);
  expect(refused.stdout).not.toContain('their-secret');
  expect((await volley('subscription', 'delete')).exit).toBe(3);
  expect(await client.get({ authorization: 'key' })).toMatchObject(FOREIGN);
  expect(await json('subscription', 'create', '--force')).toMatchObject({
    exit: 0,
    output: { outcome: 'created', replaced: 'foreign' },
  });
});

test('Without CALLBACK_URL, the owner of a subscription is unknown', async () => {
  await volley('subscription', 'create');
  const without = shell(service);
  const shown = await without.volley('subscription', 'get');
  expect([shown.exit, shown.stdout]).toEqual([
    0,
    'Lane default: the service sends notifications to https://volley.example/in/…. CALLBACK_URL is not set here, so Volley cannot tell whether it owns that subscription. No notification has arrived yet.\n',
  ]);
  const kept = await without.volley('subscription', 'delete');
  expect([kept.exit, kept.stdout]).toEqual([3, expect.stringMatching(/left alone.*cannot tell/)]);
});

test('A subscription that the service refuses is reported with its answer', async () => {
  const wrongKey = shell({ ...service, ...callback, API_KEY: 'another' });
  expect(await wrongKey.json('subscription', 'create')).toMatchObject({
    exit: 1,
    output: { outcome: 'refused', reason: expect.stringContaining('401') },
  });
});
