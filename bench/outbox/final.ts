import { allFinal, grouped, OUTBOX, say, withWorker } from './bench.js';
import { messageAt } from './messages.js';

/** Bytes of a message whose delivery status is final. */
export async function final(count: number): Promise<void> {
  await withWorker(async ({ volley, memory }) => {
    const outbox = volley.outbox(OUTBOX);
    await outbox.put({ ...messageAt(0), id: 'first' });
    await allFinal(outbox);
    const empty = await memory();
    const began = performance.now();
    for await (const _ of outbox.putAll(Array.from({ length: count }, (_, at) => messageAt(at)))) void _;
    await allFinal(outbox);
    const seconds = (performance.now() - began) / 1_000;
    const bytes = ((await memory()) - empty) / count;
    say(
      'final',
      `${grouped(count)} messages: ${bytes.toFixed(1)} bytes each once delivered; put, sent, and followed up in ${seconds.toFixed(1)} s`,
    );
  });
}
