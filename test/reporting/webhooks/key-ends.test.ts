import { expect, test } from 'vitest';
import { disableEnded } from '../../../src/reporting/webhooks/key-ends.js';
import { createSeal } from '../../../src/service/auth/seal.js';
import { byKey } from '../../app/access/operator.js';
import { webhookScene } from './fixture.js';

const { receiver, fixture } = await webhookScene('webhooks-key-ends');

const HOUR = 3_600_000;

test.each([
  ['was revoked', 'revoked', 'keyRevoked'],
  ['has expired', 'expired', 'keyExpired'],
  ['does not work any more', 'invalid', 'keyInvalid'],
] as const)(
  'An endpoint whose API key %s is disabled before its next request',
  async (text, state, because) => {
    const { service, turn, lives, webhooks, emitted, settle } = fixture();
    const { id } = await service(byKey('0123456789ab')).add({ url: receiver.url });
    await settle(1);
    lives.set('0123456789ab', { state, until: null });
    expect(await turn(id)).toBeNull();
    expect(receiver.received).toEqual([]);
    expect(await webhooks.get(id)).toMatchObject({ state: 'disabled', disabledBecause: because });
    expect(emitted).toContainEqual(expect.objectContaining({ type: 'webhook.disabled', because }));
    await expect(webhooks.enable(id)).rejects.toThrow(
      `the API key of webhook ${id} ${text}: give the webhook to another key`,
    );
  },
);

test('An endpoint gets nothing from the moment when its API key ends, in the middle of a turn', async () => {
  const { service, turn, lives, webhooks, pass, options, settle } = fixture();
  const { id, secret } = await service(byKey('0123456789ab')).add({ url: receiver.url });
  receiver.secrets.push(secret);
  const until = options.clock() + HOUR;
  lives.set('0123456789ab', { state: 'active', until });
  await settle(2_000);
  receiver.answer(() => {
    if (options.clock() < until) pass(HOUR);
    return 200;
  });
  await turn(id);
  // The first four were in flight.
  expect(receiver.received.length).toBeLessThanOrEqual(4);
  lives.set('0123456789ab', { state: 'expired', until });
  await turn(id);
  expect(await webhooks.get(id)).toMatchObject({ disabledBecause: 'keyExpired' });
});

test('An endpoint whose API key has ended is disabled although nothing happens, by a process that can tell', async () => {
  const { service, lives, webhooks, options, store, add } = fixture();
  const keyed = await service(byKey('0123456789ab')).add({ url: receiver.url });
  const own = await add(receiver);
  lives.set('0123456789ab', { state: 'expired', until: null });
  const stateOf = async (id: string) => (await webhooks.get(id)).disabledBecause;
  await disableEnded({ ...options, seal: createSeal('another key') }, await store.endpoints());
  expect(await stateOf(keyed.id)).toBeNull();
  await disableEnded(options, await store.endpoints());
  expect([await stateOf(keyed.id), await stateOf(own.id)]).toEqual(['keyExpired', null]);
});

test('A webhook of a key that was revoked gets everything since then when another key takes it over', async () => {
  const { service, turn, lives, webhooks, settle } = fixture();
  const { id, secret } = await service(byKey('0123456789ab')).add({ url: receiver.url });
  receiver.secrets.push(secret);
  lives.set('0123456789ab', { state: 'revoked', until: null });
  await settle(2);
  await turn(id);
  expect(await webhooks.get(id)).toMatchObject({ disabledBecause: 'keyRevoked', key: '0123456789ab' });
  const taken = await service(byKey('ba9876543210')).assign(id);
  expect(taken).toMatchObject({ state: 'enabled', key: 'ba9876543210', createdBy: { id: '0123456789ab' } });
  await turn(id);
  expect(receiver.results()).toHaveLength(2);
  lives.set('ba9876543210', { state: 'expired', until: null });
  await turn(id);
  expect(await webhooks.get(id)).toMatchObject({ disabledBecause: 'keyExpired' });
  expect(await webhooks.assign(id)).toMatchObject({ state: 'enabled', key: null });
});

test('A webhook that an operator has disabled stays disabled when another key takes it over', async () => {
  const { webhooks } = fixture();
  const { id } = await webhooks.add({ url: receiver.url });
  await webhooks.disable(id);
  expect(await webhooks.assign(id, { key: '0123456789ab' })).toMatchObject({
    ...{ state: 'disabled', disabledBecause: 'operator', key: '0123456789ab' },
  });
});

test('A webhook is given only to a key that works, may read what it gets, and has fewer than 20', async () => {
  const { service, lives, rights, webhooks, finder } = fixture();
  await finder.configured();
  const { id } = await webhooks.add({ url: receiver.url });
  const { id: ofLane } = await webhooks.add({ url: receiver.url, lanes: ['default'] });
  const given = (key: string, webhook = id) => webhooks.assign(webhook, { key });
  lives.set('revoked', { state: 'revoked', until: null });
  await expect(given('revoked')).rejects.toThrow('API key revoked does not work');
  rights.set('sends', { scopes: ['send'], lanes: null });
  await expect(given('sends')).rejects.toThrow('lacks the scope `read`');
  rights.set('limited', { scopes: ['read'], lanes: ['default'] });
  await expect(given('limited')).rejects.toThrow('may use only default');
  expect(await given('limited', ofLane)).toMatchObject({ key: 'limited' });
  for (let at = 0; at < 20; at += 1) await service(byKey('full')).add({ url: receiver.url });
  await expect(given('full')).rejects.toThrow('API key full has 20 webhooks');
  // One that it has already counts once.
  const [its] = (await webhooks.list()).filter(({ key }) => key === 'full');
  expect(await given('full', its?.id)).toMatchObject({ key: 'full' });
});
