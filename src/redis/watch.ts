import type { Redis } from './connection.js';

/** Who wants to know when a connection breaks and comes back; `downMs` is how long it was away. */
export interface ConnectionWatcher {
  onLost(error: Error): void;
  onRestored(downMs: number): void;
}

/** Watches a connection; tells of each break once, however often reconnecting fails. Returns what ends it. */
export function watchConnection(redis: Redis, { onLost, onRestored }: ConnectionWatcher): () => void {
  let lostAt: number | undefined;
  let wasReady = false;
  let last = new Error('the connection was closed');
  const onError = (error: Error): void => {
    last = error;
  };
  const onClose = (): void => {
    if (!wasReady || lostAt !== undefined) return;
    lostAt = performance.now();
    onLost(last);
  };
  const onReady = (): void => {
    wasReady = true;
    if (lostAt === undefined) return;
    onRestored(Math.round(performance.now() - lostAt));
    lostAt = undefined;
  };
  redis.on('error', onError).on('close', onClose).on('ready', onReady);
  return () => void redis.off('error', onError).off('close', onClose).off('ready', onReady);
}
