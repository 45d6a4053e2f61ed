import { expect, test } from 'vitest';
import type { Operator } from '../../../src/campaign/states/audit.js';
import { signedHeaders } from '../../../src/reporting/webhooks/signature.js';
import { byKey, OPERATOR } from '../../app/access/operator.js';
import { webhookScene } from './fixture.js';

const { receiver, fixture, endpoint } = await webhookScene('webhooks-webhooks');

const HOUR = 3_600_000;

test('Events are signed with both secrets during a rotation, and only with the new one afterwards', async () => {
  const { turn, pass, webhooks, settle, id } = await endpoint();
  const { secret } = await webhooks.rotate(id);
  await settle(1);
  await turn();
  expect(receiver.problems).toEqual([]);
  expect(receiver.received[0]?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(2);
  receiver.secrets.splice(0, 1, secret);
  pass(25 * HOUR);
  await settle(1, 5);
  receiver.answer(() => 200);
  await turn();
  expect(receiver.received[1]?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(1);
});

test('A rotation that is repeated keeps signing with the secret that is in use, until that ends', async () => {
  const { turn, pass, webhooks, settle, id } = await endpoint();
  await webhooks.rotate(id, { overlap: '2h' });
  const { secret } = await webhooks.rotate(id, { overlap: '1h' });
  const [used = ''] = receiver.secrets;
  /** How many secrets sign the next request, and whether the one in use is among them, and the current one. */
  const signed = async (first: number): Promise<readonly unknown[]> => {
    await settle(1, first);
    await turn();
    const { id: message = '', headers = {}, body = '' } = receiver.received.at(-1) ?? {};
    const at = Number(headers['webhook-timestamp']) * 1_000;
    const signatures = String(headers['webhook-signature']).split(' ');
    const with_ = (one: string) => signedHeaders(message, at, body, [{ secret: one }])['webhook-signature'];
    return [signatures.length, ...[used, secret].map((one) => signatures.includes(with_(one) ?? ''))];
  };
  expect(await signed(0)).toEqual([3, true, true]);
  pass(HOUR);
  // The end of one between others keeps the ends of those.
  await webhooks.set(id, { url: `${receiver.url}/new` });
  expect(await signed(5)).toEqual([2, true, true]);
  pass(HOUR);
  expect(await signed(10)).toEqual([1, false, true]);
});

test('A rotation ends the former secret after its overlap, which is at most 30 days', async () => {
  const { turn, pass, webhooks, settle, id } = await endpoint();
  const { secret } = await webhooks.rotate(id, { overlap: '2h' });
  await webhooks.rotate(id, { overlap: '0s' }).then((now) => receiver.secrets.splice(0, 1, now.secret));
  expect(receiver.secrets).not.toContain(secret);
  await settle(1);
  await turn();
  expect(receiver.received[0]?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(1);
  expect(receiver.problems).toEqual([]);
  await webhooks.rotate(id, { overlap: '2h' });
  expect((await webhooks.get(id)).oldSecretUntil).not.toBeNull();
  pass(2 * HOUR);
  expect((await webhooks.get(id)).oldSecretUntil).toBeNull();
  await expect(webhooks.rotate(id, { overlap: '31d' })).rejects.toThrow('`overlap` must be at most 30d');
});

test('What is done to an endpoint of one lane is recorded on that lane', async () => {
  const recorded: [action: string, lane: string | undefined][] = [];
  const by: Operator = {
    ...OPERATOR,
    audited({ action, lane }, run) {
      recorded.push([action, lane]);
      return run();
    },
  };
  const { webhooks } = fixture({ by });
  const { id } = await webhooks.add({ url: receiver.url, lanes: ['default'] });
  await webhooks.test(id);
  await webhooks.rotate(id);
  await webhooks.disable(id);
  await webhooks.enable(id);
  await webhooks.replay(id);
  await webhooks.remove(id);
  expect(recorded).toEqual(
    ['add', 'test', 'rotate', 'disable', 'enable', 'replay', 'remove'].map((verb) => [
      `webhook.${verb}`,
      'default',
    ]),
  );
});

test('A key may have 20 endpoints and a lane 50, however many are added at the same time', async () => {
  const { service, webhooks } = fixture();
  const addMany = async (by: Operator, count: number, lanes?: readonly string[]) => {
    const added = await Promise.allSettled(
      Array.from({ length: count }, (_, at) => service(by).add({ url: `${receiver.url}/${at}`, lanes })),
    );
    return added.flatMap((one) => (one.status === 'rejected' ? [String(one.reason.message)] : []));
  };
  const full = 'API key 0123456789ab has 20 webhooks, and may have no more: remove one';
  expect(await addMany(byKey('0123456789ab'), 22)).toEqual([full, full]);
  expect(await addMany(OPERATOR, 52, ['default'])).toEqual(
    Array(2).fill('lane default has 50 webhooks, and may have no more: remove one'),
  );
  // Others are not affected.
  expect(await addMany(byKey('ba9876543210'), 1)).toEqual([]);
  expect(await addMany(OPERATOR, 1)).toEqual([]);
  const its = (await webhooks.list()).find(({ createdBy }) => createdBy.id === '0123456789ab');
  await webhooks.remove(its?.id ?? '');
  expect(await addMany(byKey('0123456789ab'), 1)).toEqual([]);
});
