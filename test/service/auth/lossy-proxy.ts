import { connect, createServer, type Socket } from 'node:net';
import { afterAll } from 'vitest';

/** A proxy to Redis that can lose replies. */
export interface LossyProxy {
  url: string;
  /** Drops the reply to the n-th script from now (1 is the next) and closes the connection. */
  loseReplyToScript(n: number): void;
  /** Replies lost so far. */
  lost: number;
}

/** Starts a proxy in front of the Redis at `redisUrl`. It counts requests, so one connection at a time should use it. */
export async function lossyProxy(redisUrl: string): Promise<LossyProxy> {
  const { hostname, port } = new URL(redisUrl);
  const sockets = new Set<Socket>();
  let scriptsToGo = 0;
  let losing = false;
  const server = createServer((client) => {
    const upstream = connect(Number(port || 6379), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (/evalsha/i.test(bytes.toString('latin1'))) {
        scriptsToGo -= 1;
        losing = scriptsToGo === 0;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!losing) {
        client.write(bytes);
        return;
      }
      losing = false;
      proxy.lost += 1;
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const proxy: LossyProxy = {
    url: Object.assign(new URL(redisUrl), { host: `127.0.0.1:${address.port}` }).href,
    loseReplyToScript(n) {
      scriptsToGo = n;
    },
    lost: 0,
  };
  return proxy;
}
