import type { FastifyInstance } from 'fastify';

/** Longer than it takes to take an import back; a Redis that does not answer is not waited for. */
const WAIT_MS = 3_000;

/**
 * What goes on behind an answer is waited for when the app closes, even where whoever asked has gone: closing is over
 * when nothing of it is left behind. What it returns hands a promise on as it is.
 */
export function waitedForAtTheEnd(app: FastifyInstance): <Done>(work: Promise<Done>) => Promise<Done> {
  const underWay = new Set<Promise<unknown>>();
  app.addHook('onClose', async () => {
    let late: NodeJS.Timeout | undefined;
    const given = new Promise<void>((resolve) => {
      late = setTimeout(resolve, WAIT_MS);
    });
    await Promise.race([Promise.allSettled(underWay), given]);
    clearTimeout(late);
  });
  return (work) => {
    underWay.add(work);
    const over = (): void => void underWay.delete(work);
    work.then(over, over);
    return work;
  };
}
