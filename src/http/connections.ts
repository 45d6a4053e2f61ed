import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Problem } from './problem.js';

const CLOSE_IDLE_EVERY_MS = 100;

/**
 * Answers under way are seen through to their last byte, and then their connections closed, which their callers would
 * keep for the next. Node would cut those off whose end is written but not yet taken in, and wait for connections on
 * which nothing was ever asked; clients make some beforehand. A request that has not come in whole after a while is cut
 * off: its caller may have stopped midway, and would have an hour.
 */
export function endInGoodOrder(app: FastifyInstance, graceMs: number): void {
  const { server } = app;
  const underWay = new Map<Socket, Set<IncomingMessage>>();
  server.on('connection', (socket: Socket) => {
    underWay.set(socket, new Set());
    socket.once('close', () => underWay.delete(socket));
  });
  server.on('request', (request, answer) => {
    const own = underWay.get(request.socket);
    own?.add(request);
    answer.once('close', () => own?.delete(request));
  });
  // What Node and Fastify call, too, when they close.
  server.closeIdleConnections = () => {
    for (const [socket, requests] of underWay) if (requests.size === 0) socket.destroy();
  };
  const cutOff = (): void => {
    for (const [socket, requests] of underWay) {
      if ([...requests].some(({ complete }) => !complete)) socket.destroy();
    }
  };
  const closing: NodeJS.Timeout[] = [];
  app.addHook('preClose', async () => {
    closing.push(setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS));
    closing.push(setTimeout(cutOff, graceMs));
  });
  app.addHook('onClose', async () => {
    for (const timer of closing) clearInterval(timer);
  });
}

/**
 * Whoever is answered while he still sends is heard out for a while: a connection that is closed at once would take the
 * answer with it. But not for as long as he likes. What comes is thrown away: of a body that somebody began to read the
 * rest would stay where it is, and his next request behind it.
 */
export function hearOut(request: IncomingMessage, ms: number): void {
  if (request.destroyed) return;
  request.unpipe().resume();
  if (request.complete) return;
  const letGo = setTimeout(() => request.destroy(), ms);
  const hold = (): void => clearTimeout(letGo);
  request.once('end', hold).once('close', hold);
}

/** What is no HTTP, or comes too slowly, is answered once and let go. */
export function refuseNoise(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(new Problem('badInput', 'this is no HTTP request, or came too slowly'));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
