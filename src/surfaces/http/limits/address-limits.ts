import { createHash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Volley } from '../../../app/volley.js';
import { exceeded } from './rate-limit.js';
import { type Monotonic, TokenBucket } from './token-bucket.js';

/** Invalid keys that one address may try in a minute. */
const MAX_PER_MINUTE = 60;
const MAX_REMEMBERED = 10_000;
/** The ids of all keys are read at most this often, and only while an address is over its limit. */
const READ_IDS_EVERY_MS = 1_000;

/**
 * Limits the invalid keys of each address before Redis is asked about them. Valid keys from the same address, such as that of a
 * proxy, are not limited: this process has seen them before, or knows their ids.
 */
export function invalidKeyLimit(keys: Volley['keys'], now: Monotonic = () => performance.now()) {
  const buckets = new LRUCache<string, TokenBucket>({ max: MAX_REMEMBERED });
  const valid = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  let ids: Promise<ReadonlySet<string>> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  const bucketOf = (name: string): TokenBucket => {
    const bucket = buckets.get(name) ?? new TokenBucket(MAX_PER_MINUTE, now);
    buckets.set(name, bucket);
    return bucket;
  };
  const knownIds = (): Promise<ReadonlySet<string>> => {
    if (ids === undefined || now() - readAt > READ_IDS_EVERY_MS) {
      readAt = now();
      ids = keys.list().then((all) => new Set(all.map(({ id }) => id)));
      // The next request tries again.
      ids.catch(() => {
        ids = undefined;
      });
    }
    return ids;
  };
  const isKnown = async (network: string, token: string): Promise<boolean> => {
    if (valid.has(digestOf(token))) return true;
    const id = /^vk_(?:test_)?([^_]+)/.exec(token)?.[1] ?? '';
    // The id of a key is no secret, so secrets tried for it have a limit of their own.
    return (await knownIds()).has(id) && bucketOf(`${network} ${id}`).take();
  };

  return {
    /** Throws a Problem, `tooManyRequests`, if the address has tried too many invalid keys and this one may be another. */
    async admit(address: string, token: string | undefined): Promise<void> {
      const network = networkOf(address);
      const bucket = bucketOf(network);
      if (bucket.left() >= 1 || (token !== undefined && (await isKnown(network, token)))) return;
      throw exceeded(
        `This address has tried too many invalid keys. The limit is ${MAX_PER_MINUTE} a minute.`,
        bucket.secondsUntil(1),
      );
    },

    /** Counts an invalid key. */
    refused(address: string, token: string | undefined): void {
      if (token !== undefined) valid.delete(digestOf(token));
      bucketOf(networkOf(address)).take();
    },

    /** Remembers a valid key. */
    accepted(token: string): void {
      valid.set(digestOf(token), true);
    },
  };
}

/** Limits the requests of each address that need no key. The returned function throws a Problem, `tooManyRequests`. */
export function addressLimit(perMinute: number): (address: string) => void {
  const buckets = new LRUCache<string, TokenBucket>({ max: MAX_REMEMBERED });
  return (address) => {
    const network = networkOf(address);
    const bucket = buckets.get(network) ?? new TokenBucket(perMinute);
    buckets.set(network, bucket);
    if (bucket.take()) return;
    throw exceeded(`The limit is ${perMinute} requests a minute without a key.`, bucket.secondsUntil(1));
  };
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Whether an address is one of these, or in one of these networks. An IPv4 address in IPv6 form (`::ffff:…`) is that IPv4 address. */
export function isWithin(networks: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [base = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(base, familyOf(base));
    else list.addSubnet(base, Number(bits), familyOf(base));
  }
  return isIP(address) !== 0 && list.check(address, familyOf(address));
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

/** The address of an IPv4 client, or the network of an IPv6 client, which has 2⁶⁴ addresses. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [before = '', after] = address.split('::');
  const steps = before === '' ? [] : before.split(':');
  const rest = after === undefined || after === '' ? [] : after.split(':');
  const zeros =
    after === undefined ? [] : Array<string>(Math.max(0, 8 - steps.length - rest.length)).fill('0');
  return [...steps, ...zeros, ...rest].slice(0, 4).join(':');
}
