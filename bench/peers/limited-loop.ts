/** The loop around a limiter, shared by the libraries that only limit: numbers from a list, polls until final. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ListInRedis } from './list-in-redis.js';
import type { Order } from './order.js';
import type { Service, Throttled } from './service.js';

/** Makes a request when the limiter admits it, retries after a 429, and returns the final reply. */
export type Limited = <Reply extends { kind: string }>(
  ask: () => Promise<Reply | Throttled>,
) => Promise<Reply>;

/** Works through the list; resolves when nothing of it is left to this worker. */
export async function workThrough(
  { inFlight, pollMs }: Order,
  list: ListInRedis,
  service: Service,
  limited: Limited,
): Promise<void> {
  const following = (await list.recover()).map(follow);
  await Promise.all(Array.from({ length: inFlight }, sendAll));
  await Promise.all(following);

  async function sendAll(): Promise<void> {
    for (let to = await list.next(); to !== null; to = await list.next()) {
      const number = to;
      const { requestId } = await limited(() => service.send(number));
      await list.accepted(number, requestId);
      following.push(follow(requestId));
    }
  }

  async function follow(requestId: string): Promise<void> {
    for (;;) {
      await delay(pollMs);
      const { isFinal } = await limited(() => service.ask(requestId));
      if (isFinal) return list.final(requestId);
    }
  }
}
