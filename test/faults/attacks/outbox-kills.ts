import { setTimeout as delay } from 'node:timers/promises';
import { answerOf } from '../../intake/outbox/answer-of.js';
import type { Attack } from './attack.js';
import { followResults } from './results-platform.js';

const AT_ONCE = 20;
const EVERY_MS = 250;
/** With more that wait, a busy machine gets time to send them: a kill should hit messages that are new. */
const MOST_WAITING = 2_000;

/** Puts, moves, and cancels messages of an outbox, often as they become due, while the worker processes are killed. */
export const outboxKills: Attack = {
  name: 'outbox',
  promise:
    'Workers that are killed at any moment send each message of an outbox at most once, as it was changed last, and none that was cancelled',
  times: { of: 'kills', brief: 3, long: 100 },
  seed: 3,
  fleet: () => ({
    workers: ['all', 'all'],
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 20 },
  }),
  async run({ fleet: { volley }, recorder, random, times, kills, killOften, traffic, settled, expect }) {
    await volley.outboxes.create({ name: 'kill', message: '{{text}}' });
    const outbox = volley.outbox('kill');
    recorder.watch('outbox:kill');
    const platform = followResults(volley, random);
    /** The revision that was acknowledged last under each id; 0: its cancel was. */
    const revisions = new Map<string, number>();
    let [moved, cancelled] = [0, 0];
    const message = (id: string, revision: number) => ({
      id,
      to: '+447700900123',
      text: `${id} ${revision}`,
      // Some are due at once, the others within seconds.
      ...(random() < 0.2 ? {} : { sendAt: new Date(Date.now() + 3_000 * random()).toISOString() }),
    });
    const fill = async (): Promise<void> => {
      const added = Array.from({ length: AT_ONCE }, (_, at) => message(`m${revisions.size + at}`, 1));
      for await (const { id, outcome } of outbox.putAll(added)) {
        expect(outcome === 'created', `${id} was ${outcome}`);
        revisions.set(id, 1);
      }
    };
    /** One of the last messages: they are waiting, due, in flight, or sent. */
    const recent = (): string => `m${Math.max(0, revisions.size - 1 - Math.floor(random() * 10 * AT_ONCE))}`;
    const move = async (): Promise<void> => {
      const id = recent();
      const revision = (revisions.get(id) ?? 0) + 1;
      const outcome = await answerOf(outbox.put(message(id, revision)));
      if (outcome !== 'updated') return;
      revisions.set(id, revision);
      moved += 1;
    };
    const cancel = async (): Promise<void> => {
      const id = recent();
      const outcome = await answerOf(outbox.cancel(id));
      if (outcome !== 'cancelled') return;
      revisions.set(id, 0);
      cancelled += 1;
    };
    const produce = async (): Promise<void> => {
      while (kills() < times) {
        if ((await outbox.status()).counts.waiting < MOST_WAITING) await fill();
        for (let at = 0; at < AT_ONCE / 4; at += 1) await (random() < 0.5 ? move() : cancel());
        await delay(EVERY_MS);
      }
    };
    const killing = killOften(times, async () => {
      await traffic();
      await delay(400 * random());
    });
    await Promise.all([produce(), killing]);
    await settled();
    const texts = [...revisions].map(([id, revision]) => [id, revision === 0 ? [] : [`${id} ${revision}`]]);
    recorder.answered('outbox:kill', 'key', Object.fromEntries(texts));
    const { problems, learned } = await platform.stop(['outbox:kill']);
    for (const what of problems) expect(false, `results: ${what}`);
    expect(learned === revisions.size, `${revisions.size} messages, ${learned} in the results`);
    return { moved, cancelled };
  },
};
