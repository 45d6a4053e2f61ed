import { connect } from '../../redis/connection.js';

/** Deletes every key that begins with the prefix, plainly or as a hash tag. A cluster is asked node by node. */
export async function deleteKeys(url: string, prefix: string): Promise<void> {
  const redis = connect(url);
  try {
    await redis.ping();
    for (const node of 'nodes' in redis ? redis.nodes('master') : [redis]) {
      for (const pattern of [`${prefix}*`, `{${prefix}*`]) {
        let cursor = '0';
        do {
          const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
          cursor = next;
          // One by one: a cluster takes no command for keys of several slots.
          await Promise.all(keys.map((key) => redis.unlink(key)));
        } while (cursor !== '0');
      }
    }
  } finally {
    redis.disconnect();
  }
}
