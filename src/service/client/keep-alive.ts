import type { ClientRequest, Agent as HttpAgent } from 'node:http';
import type { AgentOptions } from 'node:https';
import { Socket } from 'node:net';
import { type Clocks, type Stopwatch, startStopwatch } from '../../base/clock.js';

/*
 * A request that is written while the service closes its idle connection gets no response, and its outcome is unknown. Few
 * services say how long they keep idle connections, so the client watches one connection that it does not use again: while that
 * one stays open, others may be reused that have been idle for at most half as long. Until then, and with a service that closes
 * each connection, every request has a new one.
 *
 *   the watched connection is idle for         100 ms ── 200 ms ── 400 ms ── … 3 s, then the client closes it
 *   others are reused that are idle for  0 ────  50 ms ── 100 ms ── 200 ms ── … 1.5 s
 */

/** No connection is idle for longer. Many servers close idle connections after 5 s, most later. */
const MAX_IDLE_MS = 3_000;
const FIRST_LOOK_MS = 100;
/** When to watch a connection again: if the first closed with its response, after the service closed one, and after a reset. */
const WATCH_AGAIN_MS = { afterNone: 1_000, afterClose: 60_000, afterReset: 3_600_000 };

const RESET = new Set(['ECONNRESET', 'EPIPE']);

/** The connections to one origin. */
interface Connections {
  /** The agent of the next request. */
  next(): HttpAgent;
  /** A request that may have left got no response. */
  failed(request: ClientRequest, code: string): void;
  /** Closes the idle connections; those in use close when they become idle. */
  close(): void;
}

/** Creates an agent for requests to a URL. */
export type AgentFactory = (url: string, settings: AgentOptions) => HttpAgent;

/** Reuses connections for as long as the service has been seen to keep them, less than its `Keep-Alive` header says. */
export function keepAlive(agentWith: (settings: AgentOptions) => HttpAgent, clocks: Clocks): Connections {
  const { monotonic } = clocks;
  let reuseWithinMs = 0;
  let watchAt = Number.NEGATIVE_INFINITY;
  let shortenedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  const idle = new Map<Socket, Stopwatch>();
  const reused = new WeakSet<ClientRequest>();
  // Sockets that this process closes. The service closes all others: Node.js 24 does not say that a socket in its pool was ended.
  const ownCloses = new WeakSet<Socket>();

  function agentOf(isKept: (socket: Socket) => boolean): HttpAgent {
    const agent = agentWith({ keepAlive: true, maxFreeSockets: 4_096, timeout: MAX_IDLE_MS });
    // Node's own honours `Keep-Alive: timeout=2`, less a second. After `Connection: close` it is not called.
    const keep: (socket: Socket) => unknown = agent.keepSocketAlive.bind(agent);
    agent.keepSocketAlive = (socket) => {
      if (isClosed || !(socket instanceof Socket) || keep(socket) === false || !isKept(socket)) return false;
      idle.set(socket, startStopwatch(clocks));
      socket.once('close', onClose);
      socket.once('timeout', onTimeout);
      return true;
    };
    const reuse = agent.reuseSocket.bind(agent);
    agent.reuseSocket = (socket, request) => {
      reuse(socket, request);
      if (!(socket instanceof Socket)) return;
      reused.add(request);
      idle.delete(socket);
      socket.off('close', onClose);
      socket.off('timeout', onTimeout);
    };
    return agent;
  }
  const pool = agentOf((socket) => {
    if (reuseWithinMs > 0 && (socket.timeout ?? 0) > reuseWithinMs) socket.setTimeout(reuseWithinMs);
    return reuseWithinMs > 0;
  });
  function watchedAgent(startedAt: number): HttpAgent {
    return agentOf((socket) => {
      if (startedAt < shortenedAt) return false;
      watch(socket, startedAt);
      return true;
    });
  }

  function watch(socket: Socket, startedAt: number): void {
    const since = monotonic();
    // A close needs half a round trip to get here, and the reuse another half. Its request took at least one.
    const roundTripMs = since - startedAt;
    watchAt = since + MAX_IDLE_MS + WATCH_AGAIN_MS.afterNone;
    socket.setTimeout(0);
    const look = (): void => {
      if (!idle.has(socket) || socket.readableEnded) return;
      const idleMs = monotonic() - since;
      if (idleMs > 2 * roundTripMs) {
        reuseWithinMs = Math.max(reuseWithinMs, Math.min(idleMs, MAX_IDLE_MS) / 2);
      }
      if (idleMs < MAX_IDLE_MS) {
        lookIn(Math.min(idleMs, MAX_IDLE_MS - idleMs));
      } else {
        watchAt = reuseWithinMs > 0 ? Number.POSITIVE_INFINITY : since + WATCH_AGAIN_MS.afterClose;
        close(socket);
      }
    };
    // An immediate runs after a close that has arrived is read, also in a process that was busy or stopped.
    const lookIn = (ms: number): void => void setTimeout(setImmediate, ms, look).unref();
    lookIn(FIRST_LOOK_MS);
  }

  /** The service closed a connection that had been idle for `idleMs`; the others may be next. */
  function shorten(idleMs: number, watchAgainMs: number): void {
    shortenedAt = monotonic();
    reuseWithinMs = idleMs < FIRST_LOOK_MS ? 0 : Math.min(reuseWithinMs, idleMs / 2);
    const again = shortenedAt + watchAgainMs;
    watchAt = watchAt === Number.POSITIVE_INFINITY ? again : Math.max(watchAt, again);
    closeIdle();
  }
  /** The agent closes the socket. */
  function onTimeout(this: Socket): void {
    ownCloses.add(this);
  }
  function close(socket: Socket): void {
    ownCloses.add(socket);
    socket.destroy();
  }
  function onClose(this: Socket, hadError: boolean): void {
    const isByService = hadError || this.readableEnded || !ownCloses.has(this);
    const idleMs = idleMsOf(this);
    idle.delete(this);
    if (isByService) shorten(idleMs, WATCH_AGAIN_MS.afterClose);
  }
  function idleMsOf(socket: Socket): number {
    return idle.get(socket)?.() ?? Number.POSITIVE_INFINITY;
  }
  function closeIdle(): void {
    for (const socket of idle.keys()) close(socket);
  }

  return {
    next() {
      const now = monotonic();
      if (now >= watchAt) {
        watchAt = now + WATCH_AGAIN_MS.afterNone;
        return watchedAgent(now);
      }
      // After a suspension, and in a busy process, the timers are late. The agent lists the sockets that are idle for longest first.
      const [free = []] = Object.values(pool.freeSockets);
      for (const socket of free) {
        if (idleMsOf(socket) <= reuseWithinMs) break;
        close(socket);
      }
      return pool;
    },
    failed(request, code) {
      // Each reset may cost a message an unknown outcome, so no connection is reused until connections are watched again.
      if (reused.has(request) && RESET.has(code)) shorten(0, WATCH_AGAIN_MS.afterReset);
    },
    close() {
      isClosed = true;
      closeIdle();
    },
  };
}
