import { expect, test } from 'vitest';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';

const polls = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ number: from + at, campaign: 'c', first: at }));

test('Polls made right before Redis became unavailable are counted, however long it is away', () => {
  let now = 0;
  const recent = recentClaims(() => now);
  recent.polled(polls(1, 5));
  now = 60_000;
  recent.polled(polls(6, 7));
  now = 120_000;
  recent.polled([]);
  expect(recent.polls).toBe(7);
});

test('A process waits for every replay that begins before the one that it waits for has ended', async () => {
  const running: (() => void)[] = [];
  const recent = recentClaims(
    () => 0,
    undefined,
    () => new Promise<void>((resolve) => void running.push(resolve)),
  );
  recent.replay();
  const order: string[] = [];
  const waiting = recent.replayed.then(() => order.push('claims'));
  recent.replay();
  const ended = async (at: number): Promise<void> => {
    await expect.poll(() => running[at]).toBeDefined();
    order.push(`replay ${at + 1} ends`);
    running[at]?.();
  };
  await ended(0);
  await ended(1);
  await waiting;
  expect(order).toEqual(['replay 1 ends', 'replay 2 ends', 'claims']);
});
