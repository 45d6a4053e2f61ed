import { setTimeout as delay } from 'node:timers/promises';
import { allFinal, grouped, OUTBOX, say, withWorker } from './bench.js';
import { messageAt } from './messages.js';

const PUT_SECONDS = 20;
/** The quota, how long the service takes, ms, and how many messages a second. */
const PUT_CASES: readonly (readonly [string, number, number])[] = [
  ['10000000', 0, 20],
  ['10000000', 50, 20],
  ['10000000', 50, 200],
  ['10000000', 2_000, 2],
  ['auto', 50, 40],
];

/** From the due time to the request, at 20 messages a second. */
export async function wire(): Promise<void> {
  await withWorker(async ({ volley }, simulator) => {
    const outbox = volley.outbox(OUTBOX);
    const from = 1_000 * (Math.ceil(Date.now() / 1_000) + 3);
    const SECONDS = 30;
    const PER_SECOND = 20;
    const due = new Map<string, number>();
    const list = Array.from({ length: SECONDS * PER_SECOND }, (_, at) => {
      const sendAt = from + 1_000 * Math.floor(at / PER_SECOND);
      const message = messageAt(at);
      due.set(`Hi ${message.name}`, sendAt);
      return { ...message, sendAt: new Date(sendAt).toISOString() };
    });
    for await (const _ of outbox.putAll(list)) void _;
    await allFinal(outbox);
    const late = (await simulator.ledger()).map(({ text, at }) => at - (due.get(text) ?? 0));
    say('wire', `${late.length} messages in ${SECONDS} s, from the due time to the request: ${spread(late)}`);
  });
}

/** From a put that is to be sent now to the request. */
export async function now(): Promise<void> {
  for (const [quota, latency, perSecond] of PUT_CASES) await putNow(quota, latency, perSecond);
}

/** Puts messages one at a time, evenly spaced, and reports how long each took to the service. */
async function putNow(hourlyQuota: string, latency: number, perSecond: number): Promise<void> {
  const change = { HOURLY_QUOTA: hourlyQuota, FOLLOW_UP_FIRST_MS: '15000' };
  await withWorker(
    async ({ volley }, simulator) => {
      const outbox = volley.outbox(OUTBOX);
      // The scripts are loaded.
      await outbox.put({ ...messageAt(0), id: 'first' });
      await delay(3_000);
      const count = PUT_SECONDS * perSecond;
      const putAt = new Map<string, number>();
      const puts: Promise<unknown>[] = [];
      const began = performance.now();
      for (let at = 1; at <= count; at += 1) {
        await delay(began + (1_000 * at) / perSecond - performance.now());
        const message = messageAt(at);
        putAt.set(`Hi ${message.name}`, Date.now());
        puts.push(outbox.put(message));
      }
      await Promise.all(puts);
      const entries = async () => (await simulator.ledger()).filter(({ text }) => putAt.has(text));
      while ((await entries()).length < count) await delay(250);
      const waits = (await entries()).map(({ text, at }) => at - (putAt.get(text) ?? 0));
      const took = `a service that takes ${latency} ms`;
      say(
        'now',
        `${count} messages at ${perSecond}/s, quota ${hourlyQuota}, ${took}: ${spread(waits)}; ${waits.filter((ms) => ms > 250).length} over 250 ms`,
      );
    },
    { latency, change },
  );
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const of = (share: number): string =>
    grouped(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);
  return `median ${of(0.5)} ms, p99 ${of(0.99)} ms, max ${of(1)} ms`;
}
