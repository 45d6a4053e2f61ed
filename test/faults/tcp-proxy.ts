import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What triggers a trap: a connection, or bytes of a request or a reply. */
export type TrapPoint = 'connection' | 'request' | 'reply';

/**
 * What a triggered trap does to its connection.
 * - `cutBefore`: cuts it without forwarding the matching bytes.
 * - `cutAfter`: forwards the bytes and cuts it before a reply comes back.
 * - a function: holds the bytes until it resolves, then forwards them.
 */
export type Action = 'cutBefore' | 'cutAfter' | (() => Promise<void>);

export interface Trap {
  readonly on: TrapPoint;
  /** A pattern that the bytes must match, read as latin1. Ignored for connections. */
  readonly matching?: RegExp;
  readonly action: Action;
}

/** Delays of the forwarded bytes. */
export interface TrafficShape {
  /** In each direction, ms. */
  readonly delayMs: number;
  /** The delay between the bytes of a reply, ms; 0 forwards replies unchanged. */
  readonly dripMs: number;
}

/** A TCP proxy between one process and one server that can delay, cut, and hold traffic. */
export interface TcpProxy {
  readonly port: number;
  /** Sends new connections to this port. */
  retarget(port: number): void;
  /** Cuts every connection. */
  cut(): void;
  /** Ends the connections that await no reply: the last bytes on them, if any, were those of one. */
  endIdle(): void;
  /** Sets a trap that triggers once, on the next match. Resolves when its action is done. */
  trap(trap: Trap): Promise<void>;
  /** Removes all traps that have not triggered. */
  disarm(): void;
  /** Holds replies back until `release`; with `both`, requests and the ends of connections as well, like a network that drops packets. */
  hold(what?: 'replies' | 'both'): void;
  release(): void;
  shapeTraffic(shape: TrafficShape): void;
  /** Silently drops everything on all connections, as a broken path does: they stay open, and neither side learns of it. */
  freeze(): void;
  /** Lets new connections through again. Those that were open in the meantime stay dead. */
  thaw(): void;
  close(): Promise<void>;
}

interface Armed {
  readonly trap: Trap;
  triggered(): void;
}

const PLAIN: TrafficShape = { delayMs: 0, dripMs: 0 };

/** Starts a proxy to a port of this machine. It listens on an address of this machine, by default the loopback address. */
export async function startTcpProxy(target: number, host = '127.0.0.1'): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const frozen = new WeakSet<Socket>();
  /** Connections of clients on which a request was forwarded, and no reply since. */
  const waiting = new Set<Socket>();
  let isFrozen = false;
  const armed: Armed[] = [];
  let to = target;
  let shape = PLAIN;
  let held: { open: Promise<void>; both: boolean; release(): void } | undefined;

  const matchingTrap = (on: TrapPoint, bytes: Buffer): Armed | undefined => {
    const text = bytes.toString('latin1');
    const at = armed.findIndex(({ trap }) => trap.on === on && (trap.matching?.test(text) ?? true));
    return at < 0 ? undefined : armed.splice(at, 1)[0];
  };

  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.once('close', () => {
      clients.delete(client);
      waiting.delete(client);
    });
    const upstream = connect(to, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      if (isFrozen) frozen.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    const reset = (): void => {
      client.resetAndDestroy();
      upstream.destroy();
    };
    const pass = async (on: TrapPoint, bytes: Buffer, out: Socket): Promise<void> => {
      if (frozen.has(out)) return;
      if (held !== undefined && (on === 'reply' || held.both)) await held.open;
      if (shape.delayMs > 0) await delay(shape.delayMs);
      const matched = matchingTrap(on, bytes);
      if (matched !== undefined) {
        const { action } = matched.trap;
        if (action === 'cutBefore') reset();
        else if (action === 'cutAfter') {
          // End the socket instead of destroying it, so that the forwarded bytes arrive.
          out.end(bytes);
          client.resetAndDestroy();
        } else await action();
        matched.triggered();
        if (typeof action === 'string') return;
      }
      if (on === 'reply' && shape.dripMs > 0) {
        for (const byte of bytes) {
          await delay(shape.dripMs);
          out.write(Buffer.of(byte));
        }
      } else if (bytes.length > 0) out.write(bytes);
      if (on === 'request') waiting.add(client);
      else if (on === 'reply') waiting.delete(client);
    };
    const connected = pass('connection', Buffer.alloc(0), upstream);
    const ended = async (): Promise<boolean> => {
      if (held?.both === true) await held.open;
      return delay(shape.delayMs, !frozen.has(client));
    };
    relay(client, upstream, connected, (bytes) => pass('request', bytes, upstream), ended);
    relay(upstream, client, connected, (bytes) => pass('reply', bytes, client), ended);
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');

  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const release = (): void => {
    held?.release();
    held = undefined;
  };
  return {
    port: address.port,
    endIdle() {
      for (const client of clients) if (!waiting.has(client)) client.end();
    },
    retarget: (port) => {
      to = port;
    },
    cut,
    trap: (trap) =>
      new Promise((triggered) => {
        armed.push({ trap, triggered });
      }),
    disarm: () => void armed.splice(0),
    hold(what = 'replies') {
      let free = (): void => {};
      const open = new Promise<void>((resolve) => {
        free = resolve;
      });
      held ??= { open, both: what === 'both', release: free };
    },
    release,
    shapeTraffic: (next) => {
      shape = next;
    },
    freeze() {
      isFrozen = true;
      for (const socket of sockets) frozen.add(socket);
    },
    thaw() {
      isFrozen = false;
    },
    async close() {
      release();
      cut();
      server.close();
    },
  };
}

/** Forwards chunks in order, then the end of the connection if `ended` resolves to true. */
function relay(
  from: Socket,
  to: Socket,
  after: Promise<void>,
  pass: (bytes: Buffer) => Promise<void>,
  ended: () => Promise<boolean>,
): void {
  let last = after;
  from.on('data', (bytes: Buffer) => {
    last = last.then(() => pass(bytes));
  });
  from.on('close', () => void last.then(ended).then((isSeen) => isSeen && to.destroySoon()));
}
