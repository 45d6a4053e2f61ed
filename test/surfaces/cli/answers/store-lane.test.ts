import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { list, shell, write } = scene('cli-store-lane', { list: 'phone\n+447700900123\n+447700900124\n' });
const { volley, json } = shell({
  SENDER_ADDRESS: 'ACME',
  MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1',
  SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
  ACME_KEY: 'the-secret-key-of-acme',
});

test('A lane comes from a file that may name a variable, is changed and shown, and removed with the number that it cancels', async () => {
  const added = await json(
    'lane',
    'add',
    'acme',
    write('acme.json', { apiKeyEnv: 'ACME_KEY', hourlyQuota: 50 }),
  );
  expect(added).toMatchObject({
    exit: 0,
    output: { name: 'acme', state: 'active', problem: null, settings: { hourlyQuota: 50 } },
  });
  const set = await volley(
    'lane',
    'set',
    'acme',
    write('quota.json', { hourlyQuota: null, pacing: 'smooth' }),
  );
  expect(set.stdout).toContain('changed; requests in flight finish');
  const shown = await volley('lane', 'show', 'acme');
  expect(shown.stdout).toMatch(/^acme {2}active\n {2}pacing: "smooth"\n {2}added by cli/);
  expect(JSON.stringify([added, set, shown])).not.toContain('the-secret-key');
  await volley('send', list, '--lane', 'acme', '--message', 'Hi', '--yes');
  const refused = await volley('lane', 'remove', 'acme', '--expect', '1');
  expect([refused.exit, refused.stdout]).toEqual([1, expect.stringContaining('cancels 2 recipients')]);
  const removed = await volley('lane', 'remove', 'acme', '--expect', '2', '--json');
  expect(JSON.parse(removed.stdout)).toEqual({ name: 'acme', cancelled: 2 });
  expect(removed.stderr.replace(/\s+/g, ' ')).toContain('Lane acme takes nothing new. Before Volley cancels');
});
