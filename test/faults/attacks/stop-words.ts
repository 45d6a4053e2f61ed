import { setTimeout as delay } from 'node:timers/promises';
import type { InboundMessage } from '../../../src/campaign/states/inbound.js';
import { laneCredentials } from '../../end-to-end/fleet.js';
import { callbackSettings } from '../../end-to-end/receiver.js';
import { recipients } from '../../end-to-end/recipients.js';
import { groupBy } from '../checks/group-by.js';
import type { Attack } from './attack.js';

const SENDER = '447700900999';
const STRANGER = '15550000000';
const CONFIRMATION = 'You will get no more messages.';
const PER_SECOND = 150;
const WINDOW_S = 30;
/** A reply is written up to so many messages before its own is sent, and it takes time to arrive. */
const AHEAD = 30;
const TICK_MS = 50;
const SETTLED_WITHIN_MS = 120_000;
const PAGE = 200;
const { lane, key, keyName, clients } = laneCredentials('v3', 'main');

/**
 * Sends a campaign to people of whom everyone replies with a stop word at about the time at which the message is sent, while workers and the
 * receiver are killed; as many other people write at the same time.
 */
export const stopWords: Attack = {
  name: 'stop-words',
  promise:
    'While processes are killed, no request that was claimed after a stop word goes to its sender, and each message in flight is counted',
  times: { of: 'replies, and messages of others', brief: 100, long: 1_000 },
  seed: 3,
  fleet: async () => ({
    profile: 'v3',
    workers: ['all', 'all', 'http'],
    lanes: [{ name: 'main', ...lane, hourlyQuota: PER_SECOND * WINDOW_S, pacing: 'smooth' }],
    simulator: {
      keys: [key],
      clients,
      latency: { kind: 'uniform', minMs: 20, maxMs: 120 },
      // Long enough that many stop words arrive while a request is on its way.
      arrivalDelay: { kind: 'uniform', minMs: 0, maxMs: 200 },
      deliveryTime: 100,
      inbound: { repeats: 0.3, retryAfterMs: Array.from({ length: 200 }, () => 300) },
    },
    settings: {
      ...(await callbackSettings()),
      QUOTA_WINDOW_MS: String(1_000 * WINDOW_S),
      SENDER_ADDRESS: SENDER,
      STOP_REPLY: CONFIRMATION,
      REDIS_MAY_LOSE: '0s',
    },
  }),
  async run({ fleet, recorder, random, times, kills, killOften, settled, expect, note }) {
    const { volley, simulator } = fleet;
    const numbers = [...recipients(times)].map(({ to }) => to);
    // Those who get no campaign have numbers of their own.
    const others = Array.from({ length: times }, (_, at) => `+4479${String(10_000_000 + at)}`);
    const inbox = async (): Promise<InboundMessage[]> => {
      const page = async (cursor?: string): Promise<InboundMessage[]> => {
        const { messages, nextCursor } = await volley.inbound.list({ limit: PAGE, cursor });
        return nextCursor === null ? [...messages] : [...messages, ...(await page(nextCursor))];
      };
      return page();
    };
    /** Resolves when the service knows where to send messages. */
    for (const deadline = Date.now() + SETTLED_WITHIN_MS; (await inbox()).length === 0; await delay(100)) {
      if (Date.now() > deadline) throw new Error('the lane got no inbound subscription');
      await simulator.inbound({ from: STRANGER, to: SENDER, text: 'Hello' });
    }
    const list = numbers.map((to) => ({ to }));
    const campaign = await recorder.launch({ recipients: list, message: 'Sale' }, keyName);
    let sent = 0;
    const reply = async (): Promise<void> => {
      const left = new Set(numbers.keys());
      const ahead = numbers.map(() => AHEAD * random());
      for (; left.size > 0; await delay(TICK_MS)) {
        sent = times - (await volley.status(campaign)).counts.planned;
        const ready = [...left].filter((at) => at < sent + (ahead[at] ?? 0) || sent >= times - AHEAD);
        for (const at of ready) left.delete(at);
        const texts = ready.map((at) => ({ from: numbers[at]?.slice(1) ?? '', to: SENDER, text: 'STOP' }));
        await Promise.all(texts.map((text) => simulator.inbound(text)));
      }
    };
    const write = async (): Promise<void> => {
      const notified = others.flatMap((number, at) =>
        Array.from({ length: 1 + Math.floor(3 * random()) }, () => ({ number, at, order: random() })),
      );
      for (const { number, at } of notified.sort((one, other) => one.order - other.order)) {
        const text = at % 2 === 0 ? 'stop' : ['Hel', 'lo'];
        await simulator.inbound({ from: number.slice(1), to: SENDER, text, messageId: `other-${at}` });
        await delay((1_000 * times) / PER_SECOND / notified.length);
      }
    };
    const most = 3 + Math.floor(times / 300);
    const over = new AbortController();
    // While messages are sent, from the first to the last.
    const share = async (): Promise<void> => {
      while (sent < (times * (kills() + 0.5)) / most) await delay(TICK_MS);
      await delay(300 * random());
    };
    const killing = killOften(most, share, over.signal);
    await Promise.all([reply(), write()]);
    over.abort();
    await killing;
    await settled();
    const stored = async () => (await inbox()).filter(({ from }) => from !== `+${STRANGER}`);
    for (const began = Date.now(); (await stored()).length < 2 * times; await delay(500))
      if (Date.now() - began > SETTLED_WITHIN_MS) break;
    // The last confirmations are on their way.
    await delay(3_000);
    const operations = new Map<string, string>();
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await volley.suppression.operations({ limit: PAGE, cursor });
      for (const { id, reason } of page.operations) operations.set(id, reason ?? '');
      cursor = page.nextCursor;
    }
    // When each number was on the list: the receiver logs it then.
    const storedAt = new Map(
      fleet
        .logged('suppression.added')
        .map(({ operation, time }) => [String(operation), Date.parse(String(time))]),
    );
    // After a kill, a worker sends the request with the same correlator again: the service answers, and sends nothing.
    const arrived = (await simulator.arrivals())
      .filter(({ text, outcome }) => text !== undefined && outcome !== 'repeated')
      .flatMap(({ recipients: to = [], text, at }) => to.map((number) => ({ number, text, at })));
    const byNumber = groupBy(arrived, ({ number }) => number);
    const bySender = groupBy(await stored(), ({ from }) => from);
    let [late, inFlight, untimed, confirmed] = [0, 0, 0, 0];
    for (const number of [...numbers, ...others]) {
      const found = bySender.get(number) ?? [];
      const [message] = found;
      expect(found.length === 1, `${number}: ${found.length} messages are stored`);
      const effect = message?.effect;
      const isStop = effect?.wish === 'stop';
      const got = byNumber.get(number) ?? [];
      const confirmations = got.filter(({ text }) => text === CONFIRMATION).length;
      expect(confirmations <= (isStop ? 1 : 0), `${number}: ${confirmations} confirmations`);
      confirmed += confirmations;
      if (!isStop) continue;
      const operation = effect.operation ?? '';
      const at = storedAt.get(operation) ?? Number.POSITIVE_INFINITY;
      if (at === Number.POSITIVE_INFINITY) untimed += 1;
      const isNamed = operations.get(operation)?.endsWith(message?.messageId ?? '?') === true;
      expect(isNamed, `${number}: no record names the message`);
      const after = got.filter((request) => request.text !== CONFIRMATION && request.at > at).length;
      expect(
        after <= effect.inFlightCount,
        `${number}: ${after} requests after the stop, of which ${effect.inFlightCount} were in flight`,
      );
      late += after;
      inFlight += effect.inFlightCount;
    }
    note(
      `${late} requests after the stop, ${inFlight} counted as in flight, ${untimed} stops without a time`,
    );
    const { suppressed } = (await volley.status(campaign)).counts;
    return { suppressed, confirmed };
  },
};
