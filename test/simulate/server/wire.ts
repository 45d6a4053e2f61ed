import { Command, Pipeline, Redis } from 'ioredis';

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
  /** Rejects when the connection breaks: what the worlds did after that would prove nothing. */
  readonly broken: Promise<never>;
  close(): void;
}

/** Long, because a process that gets no processor time cannot tell an answer that has come from one that has not. */
const CONNECT_WITHIN_MS = 300_000;

/**
 * Connects to a single server. A simulation may get little processor time, so the connection waits for replies as long as
 * necessary. It is not opened again when it breaks, because a command that was sent again could run twice.
 */
export async function openWire(url: string): Promise<Wire> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_WITHIN_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => null,
  });
  // The callers of each command receive its error.
  redis.on('error', () => {});
  await redis.connect();
  let isClosed = false;
  const broken = new Promise<never>((_, reject) => {
    redis.on('end', () => {
      if (!isClosed) reject(new Error('The simulation lost its connection to Redis.'));
    });
  });
  broken.catch(() => {});
  let open: Pipeline | undefined;
  return {
    redis,
    broken,
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
    close: () => {
      isClosed = true;
      redis.disconnect();
    },
  };
}
