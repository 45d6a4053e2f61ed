import { raceOutbox } from '../../test/intake/outbox/races.js';
import { allFinal, grouped, OUTBOX, say, withWorker } from './bench.js';

/** Cancels and updates around the due times of their messages. The process fails if one is answered wrongly. */
export async function races(count: number): Promise<void> {
  await withWorker(async ({ volley }, simulator) => {
    const outbox = volley.outbox(OUTBOX);
    const raced = await raceOutbox(outbox, count);
    await allFinal(outbox);
    const wrong = raced.check((await simulator.ledger()).map(({ text }) => text));
    say('races', `${grouped(count)}: ${raced.describe()}; ${wrong.length} broken promises`);
    for (const each of wrong.slice(0, 10)) say('', each);
    if (wrong.length > 0) process.exitCode = 1;
  });
}
