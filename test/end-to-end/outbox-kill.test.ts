import { expect, test, vi } from 'vitest';
import { privateRedis } from '../redis/private-redis.js';
import { startedFleet } from './started.js';

const MESSAGES = 240;
const KILLS = 4;

test('Workers that are killed at any moment send each message of an outbox at most once, and none that was cancelled', {
  timeout: 120_000,
}, async () => {
  const redis = await privateRedis();
  const fleet = await startedFleet({
    redisUrl: redis.url,
    prefix: 'outbox-kill',
    workers: ['all', 'all'],
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 20 },
  });
  const { volley, simulator } = fleet;
  await volley.outboxes.create({ name: 'kill', message: '{{text}}' });
  const outbox = volley.outbox('kill');
  const startAt = Date.now() + 2_000;
  const messages = Array.from({ length: MESSAGES }, (_, at) => ({
    id: `m${at}`,
    to: '+447700900123',
    text: `m${at}`,
    sendAt: new Date(startAt + (at % 8) * 1_000).toISOString(),
  }));
  for await (const { outcome } of outbox.putAll(messages)) expect(outcome).toBe('created');

  const cancelled: string[] = [];
  const cancelling = (async () => {
    for (let at = 0; at < MESSAGES; at += 6) {
      const { id, outcome } = await outbox.cancel(`m${at}`);
      if (outcome === 'cancelled') cancelled.push(id);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  })();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const sent = (await simulator.summary()).recipients;
    await vi.waitUntil(async () => (await simulator.summary()).recipients > sent, {
      timeout: 30_000,
      interval: 20,
    });
    const member = fleet.members[kill % fleet.members.length];
    if (member !== undefined) await fleet.kill(member);
  }
  await cancelling;

  const messagesNow = async () => (await outbox.status()).messages;
  await vi.waitFor(
    async () => {
      const { total, waiting, sending, deliveredToNetwork } = await messagesNow();
      expect({ total, waiting, sending, deliveredToNetwork }).toEqual({
        total: MESSAGES,
        waiting: 0,
        sending: 0,
        deliveredToNetwork: 0,
      });
    },
    { timeout: 60_000, interval: 200 },
  );
  const { total, ...states } = await messagesNow();
  expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(total);
  expect(states.cancelled).toBe(cancelled.length);
  expect(states.deliveredToTerminal + states.unknown + states.cancelled).toBe(MESSAGES);
  // A killed process leaves at most its requests in flight.
  expect(states.unknown).toBeLessThanOrEqual(KILLS * 32);
  const sent = (await simulator.ledger()).map(({ text }) => text);
  expect(new Set(sent).size).toBe(sent.length);
  expect(sent.filter((id) => cancelled.includes(id))).toEqual([]);
  expect(cancelled.length).toBeGreaterThan(0);
});
