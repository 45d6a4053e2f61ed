import { setTimeout as delay } from 'node:timers/promises';
import { createVolley, type Volley } from '../../../src/app/runtime.js';
import type { Random } from '../../../src/base/clock.js';
import { loadConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { answerOf } from '../../intake/outbox/answer-of.js';
import type { Attack } from './attack.js';

/** The outbox of two writers, each with a Volley of its own. */
type Writers = Readonly<Record<'first' | 'second', ReturnType<Volley['outbox']>>>;

/** What one race may send, and how its writers were answered. */
interface Race {
  readonly answers: string;
  /** The only text that may be sent; null: none. */
  readonly text: string | null;
  readonly isTrue: boolean;
}

const NUMBER = '+447700900123';
const AT_ONCE = 40;

/**
 * A message that is planned is cancelled. Then one writer puts it with version 2, and another one cancels it with version 3. Once that
 * cancel is confirmed, the message must never be sent.
 */
async function cancelledRace({ first, second }: Writers, id: string, random: Random): Promise<Race> {
  const message = (version: number) => ({ id, to: NUMBER, text: `${id} ${version}`, version });
  await first.put(message(1));
  const before = await answerOf(first.cancel(id));
  if (before !== 'cancelled') return { answers: 'sent before', text: `${id} 1`, isTrue: true };
  // On a busy machine, the writer with fewer calls wins each race; so every fourth cancel waits for the put.
  const isAfter = random() < 0.25;
  const putting = delay(4 * random()).then(() => first.put(message(2)));
  const start = isAfter ? putting : delay(4 * random());
  const cancelling = start.then(() => second.cancel(id, { version: 3 }));
  const [putDone, cancelDone] = await Promise.all([answerOf(putting), answerOf(cancelling)]);
  const isKnown = ['created', 'ended'].includes(putDone) && ['cancelled', 'sent'].includes(cancelDone);
  return {
    answers: `put ${putDone}, cancel ${cancelDone}`,
    text: cancelDone === 'sent' ? `${id} 2` : null,
    // A put that came after the cancel must not be accepted, and one that was refused cannot have been sent.
    isTrue: isKnown && (cancelDone === 'cancelled' || putDone === 'created'),
  };
}

/** Two writers put the same id with the versions 2 and 3 around the time at which version 1 is due. */
async function versionsRace({ first, second }: Writers, id: string, random: Random): Promise<Race> {
  const dueAt = 1_000 * Math.ceil(Date.now() / 1_000 + 0.3);
  const sendAt = new Date(dueAt).toISOString();
  const message = (version: number) => ({ id, to: NUMBER, text: `${id} ${version}`, version, sendAt });
  await first.put(message(1));
  const around = dueAt - 150 + 500 * random();
  const at = async (): Promise<void> => delay(Math.max(0, around + 6 * random() - Date.now()));
  const [secondDone, thirdDone] = await Promise.all([
    answerOf(at().then(() => first.put(message(2)))),
    answerOf(at().then(() => second.put(message(3)))),
  ]);
  const isThird = thirdDone === 'updated';
  const isKnown =
    ['updated', 'stale', 'sent'].includes(secondDone) && ['updated', 'sent'].includes(thirdDone);
  const version = isThird ? 3 : secondDone === 'updated' ? 2 : 1;
  return {
    answers: `version 2 ${secondDone}, version 3 ${thirdDone}`,
    text: `${id} ${version}`,
    isTrue: isKnown && (secondDone !== 'stale' || isThird),
  };
}

/** Lets two writers fight for `times` ids while workers are killed. `shows`: the answers that the race is about. */
function fight(
  race: typeof cancelledRace,
  of: Pick<Attack, 'name' | 'promise' | 'times' | 'seed'> & {
    readonly shows: string;
    kills(times: number): number;
  },
): Attack {
  return {
    ...of,
    fleet: () => ({
      workers: ['all', 'all'],
      simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 20 },
    }),
    async run({ fleet, recorder, random, times, killOften, settled, expect }) {
      const other = createVolley({
        config: loadConfig(fleet.environment),
        events: createEvents({ level: 'silent' }),
      });
      try {
        await fleet.volley.outboxes.create({ name: 'race', message: '{{text}}' });
        recorder.watch('outbox:race');
        const writers = { first: fleet.volley.outbox('race'), second: other.outbox('race') };
        const texts: Record<string, string[]> = {};
        const answered: Record<string, number> = {};
        const over = new AbortController();
        const killing = killOften(of.kills(times), () => delay(1_500 * random()), over.signal);
        let begun = 0;
        const work = async (): Promise<void> => {
          while (begun < times) {
            const id = `m${begun}`;
            begun += 1;
            const { answers, text, isTrue } = await race(writers, id, random);
            texts[id] = text === null ? [] : [text];
            answered[answers] = (answered[answers] ?? 0) + 1;
            expect(isTrue, `${id}: ${answers}`);
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, work));
        over.abort();
        await killing;
        await settled();
        recorder.answered('outbox:race', 'key', texts);
        return { [of.shows]: 0, ...answered };
      } finally {
        await other.close();
      }
    },
  };
}

export const OUTBOX_WRITERS: readonly Attack[] = [
  fight(cancelledRace, {
    name: 'cancelled',
    promise:
      'Once a cancel with a higher version is confirmed, a planned message is never sent, even if others put it again meanwhile',
    times: { of: 'ids', brief: 200, long: 5_000 },
    seed: 5,
    shows: 'put created, cancel cancelled',
    kills: () => 0,
  }),
  fight(versionsRace, {
    name: 'versions',
    promise:
      'Two writers of one id are answered truthfully, and it is sent at most once, with the last text, although workers are killed',
    times: { of: 'ids', brief: 100, long: 2_000 },
    seed: 6,
    shows: 'version 2 updated, version 3 updated',
    kills: (times) => times / 50,
  }),
];
