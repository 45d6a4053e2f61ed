import { setTimeout as delay } from 'node:timers/promises';
import type { Attack } from './attack.js';

const LANES = ['a', 'b'] as const;
/** Puts that a busy machine stores per second, at least. */
const STORED_PER_SECOND = 2_000;
const KILLS = 20;

/** Sends messages of two lanes that are all due in the same second, with three workers of which one is killed now and then. */
export const dueAtOnce: Attack = {
  name: 'due-at-once',
  promise:
    'Messages of two lanes that are due in the same second are each sent once, although workers are killed, and every status adds up',
  times: { of: 'messages', brief: 2_000, long: 100_000 },
  seed: 8,
  fleet: () => ({
    workers: ['send', 'send', 'send', 'follow-up'],
    lanes: LANES.map((name) => ({ name, apiKey: name, hourlyQuota: 1_000_000 })),
    simulator: { keys: LANES.map((key) => ({ key })), deliveryTime: 100, latency: 10 },
  }),
  async run({ fleet: { volley }, recorder, random, times, accepted, kills, killOften, settled, expect }) {
    const dueAt = 1_000 * Math.ceil(Date.now() / 1_000 + 2 + times / STORED_PER_SECOND);
    const sendAt = new Date(dueAt).toISOString();
    const fill = async (lane: string): Promise<void> => {
      await volley.outboxes.create({ name: lane, lane, message: '{{text}}' });
      recorder.watch(`outbox:${lane}`);
      const texts = Array.from(
        { length: times / LANES.length },
        (_, at) => [`m${at}`, `${lane} ${at}`] as const,
      );
      const list = texts.map(([id, text]) => ({ id, to: '+447700900123', text, sendAt }));
      for await (const { id, outcome } of volley.outbox(lane).putAll(list))
        expect(outcome === 'created', `${id} was ${outcome}`);
      recorder.answered(`outbox:${lane}`, lane, Object.fromEntries(texts.map(([id, text]) => [id, [text]])));
    };
    await Promise.all(LANES.map(fill));
    const most = Math.min(KILLS, times / 1_000);
    // From the first messages to the last.
    const share = async (): Promise<void> => {
      const goal = ((kills() + random()) / most) * times;
      while ((await accepted()) <= goal) await delay(100);
    };
    const over = new AbortController();
    const killing = killOften(most, share, over.signal);
    await settled();
    over.abort();
    await killing;
    return { kills: kills() };
  },
};
