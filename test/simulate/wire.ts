import { Command, Pipeline } from 'ioredis';
import { connect, type Redis } from '../../src/base/redis/connection.js';

/** The arguments of a command as they are sent to Redis. */
export type CommandArguments = readonly (string | number | Buffer)[];

/**
 * The real Redis connection that all worlds of a process share. Commands issued in one turn of the event loop are
 * pipelined.
 */
export interface Wire {
  readonly redis: Redis;
  /** Sends a command. Rejects with the server's error. Replies are Buffers when `encoding` is null. */
  send(name: string, args: CommandArguments, encoding: BufferEncoding | null): Promise<unknown>;
  close(): void;
}

export async function openWire(url: string): Promise<Wire> {
  const redis = connect(url, 'blocking');
  if (!('pipeline' in redis) || 'nodes' in redis) throw new TypeError('the simulation needs a single server');
  await redis.ping();
  let open: Pipeline | undefined;
  return {
    redis,
    send(name, args, encoding) {
      const command = new Command(name, [...args], { replyEncoding: encoding });
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
