import type { Redis } from 'ioredis';

const LOOK_EVERY_MS = 1_000;

/**
 * Ends a connection on which a command has waited too long without any reply, so that another one is opened. Counts looks, not time: a process
 * that was stopped, or got no CPU time, reads the replies when it goes on. The timer of ioredis would end the connection before that.
 */
export function endSilent(
  connection: Pick<Redis, 'on' | 'stream' | 'commandQueue'>,
  silentForMs: number,
): void {
  connection.on('connect', () => {
    const { stream } = connection;
    let read = stream.bytesRead;
    let looks = 0;
    const look = setInterval(() => {
      const isSilent = connection.commandQueue.length > 0 && stream.bytesRead === read;
      looks = isSilent ? looks + 1 : 0;
      read = stream.bytesRead;
      if (looks * LOOK_EVERY_MS >= silentForMs)
        stream.destroy(new Error(`Redis has not replied for ${silentForMs / 1_000} s.`));
    }, LOOK_EVERY_MS).unref();
    stream.once('close', () => clearInterval(look));
  });
}
