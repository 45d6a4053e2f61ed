import { LRUCache } from 'lru-cache';
import { z } from 'zod';

/** Where a simulator says that it is one. */
const PATH = '/_simulator/identity';
const TIMEOUT_MS = 2_000;
/** Another service may take over the address. */
const HOLDS_MS = 5_000;
const identity = z.object({ simulator: z.literal(true) });

/**
 * Returns whether the service at an address is a simulator. Only the service itself is asked: a setting may name the wrong one, and then a
 * message would reach a phone. An address with TLS is not asked, because no simulator has one.
 */
export function simulatorCheck(): (url: string) => Promise<boolean> {
  const checks = new LRUCache<string, Promise<boolean>>({ max: 1_000, ttl: HOLDS_MS });
  return (url) => {
    const { protocol, origin } = new URL(url);
    if (protocol !== 'http:') return Promise.resolve(false);
    const known = checks.get(origin);
    if (known !== undefined) return known;
    const check = answersAsSimulator(origin);
    checks.set(origin, check);
    return check;
  };
}

async function answersAsSimulator(origin: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const reply = await fetch(`${origin}${PATH}`, { redirect: 'error', signal });
    return reply.ok && identity.safeParse(await reply.json()).success;
  } catch {
    return false;
  }
}
