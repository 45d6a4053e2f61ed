import { setTimeout as delay } from 'node:timers/promises';
import type { Outbox } from '../../../src/intake/outbox/outbox-methods.js';
import { answerOf } from './answer-of.js';

const NUMBER = '+447700900123';
/** Races per second: more would keep a small machine from sending in time, and then every cancel would be early. */
const PER_SECOND = 40;
const SPREAD_MS = 1_500;

/** What the outbox has confirmed in the races, and what is wrong with the texts that were sent. */
interface Races {
  readonly cancelled: ReadonlySet<string>;
  readonly changed: ReadonlySet<string>;
  describe(): string;
  /** Every promise that these texts break. */
  check(sent: readonly string[]): string[];
}

/**
 * Puts messages with the text of their id into an outbox whose message is `{{name}}`, and cancels or changes each of them at some time
 * from half a second before it is due to a second after.
 */
export async function raceOutbox(outbox: Outbox, count: number): Promise<Races> {
  const [cancelled, changed] = [new Set<string>(), new Set<string>()];
  const ids = Array.from({ length: count }, (_, at) => `m${at}`);
  const from = 1_000 * (Math.ceil(Date.now() / 1_000) + 2 + Math.ceil(count / 5_000));
  const dueOf = (at: number): number => from + 1_000 * Math.floor(at / PER_SECOND);
  const messageOf = (id: string, at: number, name: string) => ({
    id,
    to: NUMBER,
    name,
    sendAt: new Date(dueOf(at)).toISOString(),
  });
  for await (const { id, outcome } of outbox.putAll(ids.map((id, at) => messageOf(id, at, id))))
    if (outcome !== 'created') throw new Error(`${id} was ${outcome}`);
  await Promise.all(
    ids.map(async (id, at) => {
      const offset = (SPREAD_MS * ((at * 7) % PER_SECOND)) / PER_SECOND;
      await delay(dueOf(at) - 500 + offset - Date.now());
      if (at % 2 === 0) {
        const outcome = await answerOf(outbox.cancel(id));
        if (outcome === 'cancelled') cancelled.add(id);
      } else {
        const outcome = await answerOf(outbox.put(messageOf(id, at, `${id} changed`)));
        if (outcome === 'updated') changed.add(id);
      }
    }),
  );
  return {
    cancelled,
    changed,
    describe: () =>
      `${cancelled.size} of ${Math.ceil(count / 2)} cancels and ${changed.size} of ${Math.floor(count / 2)} updates came in time`,
    check(sent) {
      const times = new Map<string, number>();
      for (const text of sent) times.set(text, (times.get(text) ?? 0) + 1);
      return ids.flatMap((id) => {
        const [first, second] = [times.get(`Hi ${id}`) ?? 0, times.get(`Hi ${id} changed`) ?? 0];
        const wanted = cancelled.has(id) ? [0, 0] : changed.has(id) ? [0, 1] : [1, 0];
        if (first === wanted[0] && second === wanted[1]) return [];
        return [
          `${id} was sent ${first} times as it was, and ${second} times changed; expected ${wanted.join(' and ')}`,
        ];
      });
    },
  };
}
