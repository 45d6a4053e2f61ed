import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What a trap waits for: a connection, or bytes of a request or of a reply. */
export type Place = 'connection' | 'request' | 'reply';

/**
 * What befalls the connection on which a trap closes.
 * - `cutBefore`: it breaks, and the bytes that matched are not passed on.
 * - `cutAfter`: the bytes are passed on, and it breaks before anything comes back.
 * - a function: the bytes wait until it resolves, and are then passed on.
 */
export type Deed = 'cutBefore' | 'cutAfter' | (() => Promise<void>);

export interface Trap {
  readonly on: Place;
  /** What the bytes must hold, read as latin1. Of a connection nothing is asked. */
  readonly holding?: RegExp;
  readonly deed: Deed;
}

/** How bytes travel. */
export interface Road {
  /** Each way, ms. */
  readonly delayMs: number;
  /** Replies come byte by byte, so many ms apart; 0: as they are. */
  readonly dripMs: number;
}

/** A TCP connection between one process and one server, which can be tampered with. */
export interface Link {
  readonly port: number;
  /** New connections go there. */
  retarget(port: number): void;
  /** Breaks every connection. */
  cut(): void;
  /** The next that matches springs it, once; resolves when its deed is done. */
  trap(trap: Trap): Promise<void>;
  /** Traps that were never sprung are gone. */
  disarm(): void;
  /** Replies are kept back until `release`. */
  hold(): void;
  release(): void;
  travel(road: Road): void;
  close(): Promise<void>;
}

interface Armed {
  readonly trap: Trap;
  sprung(): void;
}

const PLAIN: Road = { delayMs: 0, dripMs: 0 };

/** Opens a way to a port of this machine. */
export async function openLink(target: number): Promise<Link> {
  const sockets = new Set<Socket>();
  const armed: Armed[] = [];
  let to = target;
  let road = PLAIN;
  let held: { open: Promise<void>; release(): void } | undefined;

  const springs = (on: Place, bytes: Buffer): Armed | undefined => {
    const text = bytes.toString('latin1');
    const at = armed.findIndex(({ trap }) => trap.on === on && (trap.holding?.test(text) ?? true));
    return at < 0 ? undefined : armed.splice(at, 1)[0];
  };

  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    const breakOff = (): void => {
      client.resetAndDestroy();
      upstream.destroy();
    };
    const pass = async (on: Place, bytes: Buffer, out: Socket): Promise<void> => {
      if (on === 'reply' && held !== undefined) await held.open;
      if (road.delayMs > 0) await delay(road.delayMs);
      const struck = springs(on, bytes);
      if (struck !== undefined) {
        const { deed } = struck.trap;
        if (deed === 'cutBefore') breakOff();
        else if (deed === 'cutAfter') {
          // Ended rather than destroyed: what was passed on must arrive.
          out.end(bytes);
          client.resetAndDestroy();
        } else await deed();
        struck.sprung();
        if (typeof deed === 'string') return;
      }
      if (on === 'reply' && road.dripMs > 0) {
        for (const byte of bytes) {
          await delay(road.dripMs);
          out.write(Buffer.of(byte));
        }
      } else if (bytes.length > 0) out.write(bytes);
    };
    const greeted = pass('connection', Buffer.alloc(0), upstream);
    relay(client, upstream, greeted, (bytes) => pass('request', bytes, upstream));
    relay(upstream, client, greeted, (bytes) => pass('reply', bytes, client));
  });
  await listening(server);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the link has no port');

  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const release = (): void => {
    held?.release();
    held = undefined;
  };
  return {
    port: address.port,
    retarget: (port) => {
      to = port;
    },
    cut,
    trap: (trap) =>
      new Promise((sprung) => {
        armed.push({ trap, sprung });
      }),
    disarm: () => void armed.splice(0),
    hold() {
      let free = (): void => {};
      const open = new Promise<void>((resolve) => {
        free = resolve;
      });
      held ??= { open, release: free };
    },
    release,
    travel: (next) => {
      road = next;
    },
    async close() {
      release();
      cut();
      server.close();
    },
  };
}

/** Hands on what comes, piece by piece and in order, and then the end. */
function relay(from: Socket, to: Socket, after: Promise<void>, pass: (bytes: Buffer) => Promise<void>): void {
  let last = after;
  from.on('data', (bytes: Buffer) => {
    last = last.then(() => pass(bytes));
  });
  from.on('close', () => void last.then(() => to.destroySoon()));
}

async function listening(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}
