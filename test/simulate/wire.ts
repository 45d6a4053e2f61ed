import { Command, Pipeline } from 'ioredis';
import { connect, type Redis } from '../../src/redis/connection.js';

/** A command as it goes on the wire. Replies are bytes, as they come. */
export type Words = readonly (string | number | Buffer)[];

/**
 * The one real connection that all worlds of a process share. What they ask during one turn of the event loop goes in one
 * write, and is answered in its order.
 */
export interface Wire {
  readonly redis: Redis;
  /** Rejects with what the server says. Given several, they run with nothing in between on this connection. */
  ask(name: string, words: Words, encoding: BufferEncoding | null): Promise<unknown>;
  close(): void;
}

export async function openWire(url: string): Promise<Wire> {
  const redis = connect(url, 'blocking');
  if (!('pipeline' in redis) || 'nodes' in redis) throw new TypeError('the simulation needs a single server');
  await redis.ping();
  let open: Pipeline | undefined;
  return {
    redis,
    ask(name, words, encoding) {
      const command = new Command(name, [...words], { replyEncoding: encoding });
      if (open === undefined) {
        const pipeline = new Pipeline(redis);
        open = pipeline;
        setImmediate(() => {
          open = undefined;
          pipeline.exec().catch(() => {});
        });
      }
      open.sendCommand(command);
      return command.promise;
    },
    close: () => redis.disconnect(),
  };
}
