import { grouped, OUTBOX, say, withBench } from './bench.js';
import { firstOf, LIST, messageAt, messages } from './messages.js';

/** Bytes of a waiting message, and puts per second in bulk, with so many messages per send time each. */
export async function waiting(count: number, perSendTimes: readonly number[]): Promise<void> {
  for (const perSendTime of perSendTimes) {
    await withBench(async ({ volley, memory, spent }) => {
      const outbox = volley.outbox(OUTBOX);
      // The scripts are loaded, and what a lane needs once exists.
      await outbox.put({ ...messageAt(0), id: 'first', sendAt: new Date(Date.now() + 3e9).toISOString() });
      const empty = await memory();
      const own = process.cpuUsage();
      const began = performance.now();
      let created = 0;
      const list = messages(count, perSendTime);
      const cost = await spent(async () => {
        for (let from = 0; from < count; from += LIST)
          for await (const { outcome } of outbox.putAll(firstOf(list, LIST)))
            if (outcome === 'created') created += 1;
      });
      const seconds = (performance.now() - began) / 1_000;
      const client = process.cpuUsage(own);
      if (created !== count) throw new Error(`${count - created} messages were not stored`);
      const bytes = ((await memory()) - empty) / count;
      say(
        'waiting',
        `${grouped(count)} messages, ${perSendTime} per send time: ${bytes.toFixed(1)} bytes each; ${grouped(count / seconds)} puts/s in bulk; CPU per put: client ${((client.user + client.system) / count).toFixed(0)} µs, Redis ${((1_000 * cost.redisMs) / count).toFixed(0)} µs; ${(cost.commands / count).toFixed(1)} commands`,
      );
    });
  }
}
