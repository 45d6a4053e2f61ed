import { expect, test } from 'vitest';
import { laneFixture } from '../../../engine/lane/lane-fixture.js';
import { scene } from '../../../scene/scene.js';

const { prefix, redis, shell } = scene('cli-outbox-resolve', {
  settings: {
    MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1',
    API_KEY: 'k',
    SENDER_ADDRESS: 'ACME',
    DEFAULT_COUNTRY: '',
  },
});
const { volley } = shell();

/** An outbox with two messages, both of which are unknown. */
async function unknownOutbox(): Promise<void> {
  await volley('outbox', 'create', 'codes', '--message', 'Your code is {{code}}');
  for (const id of ['a', 'b'])
    await volley('outbox', 'put', 'codes', id, '+447700900123', '--set', `code=${id}`);
  const lane = laneFixture(redis, prefix, 'default');
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 2, seen: 0 });
  expect(claims).toHaveLength(2);
  for (const claim of claims)
    await lane.settlements.send([{ claim, result: 'unknown', letters: 'U', reason: 'no response' }], 0);
}

test('The messages of an outbox with an unknown outcome are named with the command that settles them', async () => {
  await unknownOutbox();
  expect((await volley('outbox', 'show', 'codes')).stdout).toContain(
    '2 messages; to settle them: volley outbox resolve codes',
  );
  expect((await volley('outbox', 'message', 'codes', 'a')).stdout).toContain(
    'to resolve: volley outbox resolve codes a',
  );
  const bare = await volley('outbox', 'resolve', 'codes', 'a');
  expect([bare.exit, bare.stderr]).toMatchObject([2, expect.stringContaining('--abandon')]);
  const missing = await volley('outbox', 'resolve', 'codes', 'c', '--abandon');
  expect([missing.exit, missing.stderr]).toMatchObject([2, expect.stringContaining('c')]);

  const one = await volley('outbox', 'resolve', 'codes', 'a', '--accepted');
  expect(one.stdout).toContain('1 message');
  const rest = await volley('outbox', 'resolve', 'codes', '--abandon', '--json');
  expect(JSON.parse(rest.stdout)).toMatchObject({ requests: 1, recipientCount: 1, tooEarly: null });
  const states = ['a', 'b'].map(async (id) =>
    JSON.parse((await volley('outbox', 'message', 'codes', id, '--json')).stdout),
  );
  expect(await Promise.all(states)).toMatchObject([{ state: 'unconfirmed' }, { state: 'abandoned' }]);
});
