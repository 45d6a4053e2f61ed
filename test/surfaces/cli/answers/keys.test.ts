import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, open } = scene('cli-keys');
const { volley, json } = shell();

test('A key may never expire', async () => {
  const made = await volley('keys', 'create', '--name', 'ever', '--scope', 'read', '--expires', 'never');
  expect([made.exit, made.stderr]).toEqual([0, expect.stringContaining('never expires')]);
});

test('A key shows its kind, rights, and limits, but not its secret', async () => {
  const limits = ['--test', '--senders', 'ACME', '--recipients-per-day', '100', '--addresses', '10.0.0.0/8'];
  const made = await volley('keys', 'create', '--name', 'shop', '--scope', 'send', ...limits);
  expect(made.stderr).toMatch(/^Test key [0-9a-f]{12} for shop: send on all lanes/);
  const id = made.stdout.split('_')[2] ?? '';
  expect(made.stdout).toMatch(/^vk_test_/);
  const { stdout } = await volley('keys', 'show', id.slice(0, 6));
  expect(stdout).toMatch(
    new RegExp(`^Test key ${id} for shop: active\n  send on all lanes\n  created .*, never used\n`),
  );
  expect(stdout).toMatch(
    /\n {2}senders: \["ACME"\]\n {2}recipientsPerDay: 100\n {2}addresses: \["10.0.0.0\/8"\]\n/,
  );
  expect(stdout).toMatch(/\n {2}today: 0 messages; 100 messages left; resets .*\n$/);
  expect((await volley('keys', 'list')).stdout).toMatch(new RegExp(`${id} +test +shop`));
  const shown = (await json('keys', 'show', id)).output;
  expect(shown).toMatchObject({ id, test: true, today: { recipientCount: 0, cost: null } });
  expect(shown).not.toHaveProperty('key');
  await volley('keys', 'revoke', id);
});

test('Revoking a key with its campaigns names the outboxes that it emptied and those that others use', async () => {
  const service = open({ API_KEY: 'key', SENDER_ADDRESS: 'ACME' });
  const { id } = await service.keys.create({ name: 'shop', scopes: ['send'] });
  const shop = service.as({ kind: 'key', id, name: 'shop' });
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  for (const name of ['own', 'shared']) {
    await shop.outboxes.create({ name, message: 'Hi' });
    await shop.outbox(name).put({ id: 'a', to: '+447700900123', sendAt });
  }
  await service.outbox('shared').put({ id: 'b', to: '+447700900123', sendAt });
  const { stdout } = await volley('keys', 'revoke', id, '--cancel-campaigns');
  expect(stdout).toContain('Outbox own on lane default: 1 message cancelled.');
  expect(stdout).toContain('volley outbox cancel-all shared --lane default');
  // Messages that a request in progress stored in between, or that the first attempt did not reach.
  await shop.outbox('own').put({ id: 'c', to: '+447700900123', sendAt });
  const again = await volley('keys', 'revoke', id, '--cancel-campaigns');
  expect(again.stdout).toContain('Outbox own on lane default: 1 message cancelled.');
});
