import type { Redis } from './connection.js';

/** The server's clock, in ms since the epoch. Processes on several machines use it because their own clocks differ. */
export async function serverTime(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
