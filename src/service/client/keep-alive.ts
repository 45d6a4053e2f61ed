import type { ClientRequest, Agent as HttpAgent } from 'node:http';
import type { AgentOptions } from 'node:https';
import { Socket } from 'node:net';
import { type Clocks, type Stopwatch, startStopwatch } from '../../base/clock.js';

/*
 * A request that is written while the service closes its idle connection gets no response, and its outcome is unknown. Few
 * services say how long they keep idle connections, so the client first tries one: it leaves a connection idle for TRIAL_MS. If that
 * stays open, others are reused that have been idle for at most half as long. Before that, and with a service that closes
 * connections earlier, every request has a new one.
 */

/** Many servers close idle connections after 5 s, most later. */
const TRIAL_MS = 3_000;
const REUSE_WITHIN_MS = TRIAL_MS / 2;
/** When to try again: if the first connection closed with its response, after the service closed an idle one, and after a reset. */
const TRY_AGAIN_MS = { afterNone: 1_000, afterClose: 60_000, afterReset: 3_600_000 };

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

/** Reuses connections of a service that keeps idle ones, for less than its `Keep-Alive` header says. */
export function keepAlive(agentWith: (settings: AgentOptions) => HttpAgent, clocks: Clocks): Connections {
  const { monotonic } = clocks;
  let isReusing = false;
  let tryAt = Number.NEGATIVE_INFINITY;
  let stoppedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  const idle = new Map<Socket, Stopwatch>();
  const reused = new WeakSet<ClientRequest>();
  // Sockets that this process closes. The service closes all others: Node.js 24 does not say that a socket in its pool was ended.
  const ownCloses = new WeakSet<Socket>();

  function agentOf(isKept: (socket: Socket) => boolean): HttpAgent {
    const agent = agentWith({ keepAlive: true, maxFreeSockets: 4_096, timeout: REUSE_WITHIN_MS });
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
  const pool = agentOf(() => isReusing);
  function trialAgent(startedAt: number): HttpAgent {
    return agentOf((socket) => {
      if (startedAt < stoppedAt) return false;
      leaveIdle(socket, startedAt);
      return true;
    });
  }

  function leaveIdle(socket: Socket, startedAt: number): void {
    const since = monotonic();
    // A close needs half a round trip to get here, and the reuse another half. Its request took at least one.
    const isNear = since - startedAt < TRIAL_MS - REUSE_WITHIN_MS;
    tryAt = since + TRIAL_MS + TRY_AGAIN_MS.afterNone;
    socket.setTimeout(0);
    const look = (): void => {
      if (!idle.has(socket) || socket.readableEnded) return;
      isReusing = isNear;
      tryAt = isNear ? Number.POSITIVE_INFINITY : since + TRY_AGAIN_MS.afterClose;
      close(socket);
    };
    // An immediate runs after a close that has arrived is read, also in a process that was busy or stopped.
    setTimeout(setImmediate, TRIAL_MS, look).unref();
  }

  /** The service closed an idle connection, or reset one; the others may be next. */
  function stopReusing(againMs: number): void {
    stoppedAt = monotonic();
    isReusing = false;
    const again = stoppedAt + againMs;
    tryAt = tryAt === Number.POSITIVE_INFINITY ? again : Math.max(tryAt, again);
    for (const socket of idle.keys()) close(socket);
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
    idle.delete(this);
    if (isByService) stopReusing(TRY_AGAIN_MS.afterClose);
  }

  return {
    next() {
      const now = monotonic();
      if (now >= tryAt) {
        tryAt = now + TRY_AGAIN_MS.afterNone;
        return trialAgent(now);
      }
      // After a suspension, and in a busy process, the timers are late. The agent lists the sockets that are idle for longest first.
      const [free = []] = Object.values(pool.freeSockets);
      for (const socket of free) {
        if ((idle.get(socket)?.() ?? Number.POSITIVE_INFINITY) <= REUSE_WITHIN_MS) break;
        close(socket);
      }
      return pool;
    },
    failed(request, code) {
      // Each reset may cost a message an unknown outcome, so no connection is reused until the next trial.
      if (reused.has(request) && RESET.has(code)) stopReusing(TRY_AGAIN_MS.afterReset);
    },
    close() {
      isClosed = true;
      for (const socket of idle.keys()) close(socket);
    },
  };
}
