import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/base/clock.js';
import type { InboundMessage } from '../../src/campaign/inbound.js';
import { type Fleet, laneCredentials, startFleet } from './fleet.js';
import { callbackSettings } from './receiver.js';
import { recipients } from './recipients.js';

export interface StopRunOptions {
  readonly redisUrl: string;
  readonly prefix: string;
  /** Recipients of the campaign. Each replies with a stop word around the time at which it gets its message. */
  readonly races: number;
  /** Messages of other people, of which every second is a stop word, each notified up to three times in any order. */
  readonly messages: number;
  /** How many processes are killed: workers, and the one that receives the messages. */
  readonly kills: number;
  readonly random: Random;
  onProgress(line: string): void;
}

/** What became of the messages, and every promise that was broken. */
export interface StopRunOutcome {
  readonly problems: readonly string[];
  readonly stops: number;
  /** Recipients that got no message, because the stop word was in force before their claim. */
  readonly suppressed: number;
  /** Messages that reached the service after the stop word was stored: their claims had begun before. */
  readonly late: number;
  /** Messages in flight that the records count. */
  readonly inFlight: number;
  /** Stops whose receiver was killed before it could log when they were stored: their requests are not compared. */
  readonly untimed: number;
  readonly confirmed: number;
  readonly kills: number;
  readonly tookMs: number;
}

const SENDER = '447700900999';
const CONFIRMATION = 'You will get no more messages.';
const PER_SECOND = 150;
const WINDOW_S = 30;
/** A reply is written up to so many messages before its own is sent, and it takes time to arrive. */
const AHEAD = 30;
const TICK_MS = 50;
const SETTLED_WITHIN_MS = 120_000;
const PAGE = 200;

/**
 * Sends a campaign to people of whom everyone replies with a stop word at about the time at which the message is sent, while workers and the
 * receiver are killed with SIGKILL; other people write at the same time. Compares what has reached the service with what Volley recorded.
 */
export async function stopRun(options: StopRunOptions): Promise<StopRunOutcome> {
  const { lane, key, clients } = laneCredentials('v3', 'main');
  const fleet = await startFleet({
    redisUrl: options.redisUrl,
    prefix: options.prefix,
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
      wholeArrivals: true,
      inbound: { repeats: 0.3, retryAfterMs: Array.from({ length: 200 }, () => 300) },
    },
    settings: {
      ...(await callbackSettings()),
      QUOTA_WINDOW_MS: String(1_000 * WINDOW_S),
      SENDER_ADDRESS: SENDER,
      STOP_REPLY: CONFIRMATION,
      REDIS_MAY_LOSE: '0s',
    },
  });
  try {
    await fleet.ready();
    return await race(fleet, options);
  } finally {
    await fleet.close();
  }
}

async function race(
  { volley, simulator, members, kill, logged }: Fleet,
  { races, messages, kills, random, onProgress }: StopRunOptions,
): Promise<StopRunOutcome> {
  const began = performance.now();
  const numbers = [...recipients(races)].map(({ to }) => to);
  // Those who get no campaign have numbers of their own.
  const others = Array.from({ length: messages }, (_, at) => `+4479${String(10_000_000 + at)}`);
  const pages = async <Item>(
    read: (cursor?: string) => Promise<{ items: readonly Item[]; nextCursor: string | null }>,
  ): Promise<Item[]> => {
    const found: Item[] = [];
    for (let cursor: string | undefined; ; ) {
      const { items, nextCursor } = await read(cursor);
      found.push(...items);
      if (nextCursor === null) return found;
      cursor = nextCursor;
    }
  };
  const inbox = (): Promise<InboundMessage[]> =>
    pages(async (cursor) => {
      const page = await volley.inbound.list({ limit: PAGE, cursor });
      return { items: page.messages, nextCursor: page.nextCursor };
    });
  /** Resolves when the service knows where to send messages. */
  const subscribed = async (): Promise<void> => {
    for (const deadline = Date.now() + SETTLED_WITHIN_MS; Date.now() < deadline; await delay(100)) {
      await simulator.inbound({ from: '15550000000', to: SENDER, text: 'Hello' });
      if ((await inbox()).length > 0) return;
    }
    throw new Error('the lane got no inbound subscription');
  };
  await subscribed();
  onProgress('the lane is subscribed');
  const outcome = await volley.enqueue({ recipients: numbers.map((to) => ({ to })), message: 'Sale' });
  if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);

  let [killed, isOver, sent] = [0, false, 0];
  const left = new Set(numbers.keys());
  const ahead = numbers.map(() => AHEAD * random());
  const reply = async (): Promise<void> => {
    for (; left.size > 0; await delay(TICK_MS)) {
      sent = races - (await volley.status(outcome.id)).counts.planned;
      const ready = [...left].filter((at) => at < sent + (ahead[at] ?? 0) || sent >= races - AHEAD);
      for (const at of ready) left.delete(at);
      await Promise.all(
        ready.map((at) =>
          simulator.inbound({ from: (numbers[at] ?? '').slice(1), to: SENDER, text: 'STOP' }),
        ),
      );
    }
    isOver = true;
  };
  const write = async (): Promise<void> => {
    const notified = others.flatMap((number, at) =>
      Array.from({ length: 1 + Math.floor(3 * random()) }, () => ({ number, at, order: random() })),
    );
    const inAnyOrder = notified.sort((one, other) => one.order - other.order);
    for (const { number, at } of inAnyOrder) {
      const text = at % 2 === 0 ? 'stop' : ['Hel', 'lo'];
      await simulator.inbound({ from: number.slice(1), to: SENDER, text, messageId: `other-${at}` });
      await delay((1_000 * races) / PER_SECOND / inAnyOrder.length);
    }
  };
  const killAll = async (): Promise<void> => {
    for (; killed < kills && !isOver; killed += 1) {
      // While messages are sent, from the first to the last.
      while (!isOver && sent < (races * (killed + 0.5)) / kills) await delay(TICK_MS);
      await delay(300 * random());
      const member = members[killed % members.length];
      if (member !== undefined) await kill(member);
      onProgress(`${killed + 1} kills, ${sent} sent or suppressed, ${races - left.size} stops`);
    }
  };
  await Promise.all([reply(), write(), killAll()]);
  const expected = races + messages;
  let stored: InboundMessage[] = [];
  for (let deadline = Date.now() + SETTLED_WITHIN_MS, before = 0; Date.now() < deadline; await delay(500)) {
    stored = (await inbox()).filter(({ from }) => from !== '+15550000000');
    const { planned, sending, deliveredToNetwork } = (await volley.status(outcome.id)).counts;
    // What a killed worker left behind stays unknown.
    const isDone = planned + sending + deliveredToNetwork === 0;
    if (stored.length >= expected && isDone) break;
    if (stored.length > before) deadline = Date.now() + SETTLED_WITHIN_MS;
    before = stored.length;
  }
  // The last confirmations are on their way.
  await delay(3_000);

  const problems: string[] = [];
  const expect = (isSo: boolean, problem: string): void => {
    if (!isSo) problems.push(problem);
  };
  const operations = new Map(
    (
      await pages(async (cursor) => {
        const page = await volley.suppression.operations({ limit: PAGE, cursor });
        return { items: page.operations, nextCursor: page.nextCursor };
      })
    ).map((operation) => [operation.id, operation]),
  );
  // When each number was on the list: the receiver logs it then.
  const storedAt = new Map(
    logged('suppression.added').map(({ operation, time }) => [String(operation), Date.parse(String(time))]),
  );
  // After a kill, a worker sends the request with the same correlator again: the service answers, and sends nothing.
  const arrivals = (await simulator.arrivals()).filter(
    ({ text, outcome }) => text !== undefined && outcome !== 'repeated',
  );
  const sales = new Map<string, number[]>();
  const confirmations = new Map<string, number>();
  for (const { text, at, recipients: to = [] } of arrivals) {
    for (const number of to) {
      if (text === CONFIRMATION) confirmations.set(number, (confirmations.get(number) ?? 0) + 1);
      else sales.set(number, [...(sales.get(number) ?? []), at]);
    }
  }
  const byNumber = new Map<string, InboundMessage[]>();
  for (const message of stored) byNumber.set(message.from, [...(byNumber.get(message.from) ?? []), message]);
  let [late, inFlight, untimed] = [0, 0, 0];
  for (const number of [...numbers, ...others]) {
    const found = byNumber.get(number) ?? [];
    expect(found.length === 1, `${number}: ${found.length} messages are stored`);
    const effect = found[0]?.effect;
    const isStop = effect?.wish === 'stop';
    expect(
      (confirmations.get(number) ?? 0) <= (isStop ? 1 : 0),
      `${number}: ${confirmations.get(number)} confirmations`,
    );
    if (!isStop) continue;
    const operation = operations.get(effect.operation ?? '');
    const at = storedAt.get(effect.operation ?? '') ?? Number.POSITIVE_INFINITY;
    if (at === Number.POSITIVE_INFINITY) untimed += 1;
    expect(
      operation?.reason?.endsWith(found[0]?.messageId ?? '?') === true,
      `${number}: no record names the message`,
    );
    const after = (sales.get(number) ?? []).filter((arrivedAt) => arrivedAt > at).length;
    expect(
      after <= effect.inFlightCount,
      `${number}: ${after} requests after the stop, of which ${effect.inFlightCount} were in flight`,
    );
    late += after;
    inFlight += effect.inFlightCount;
  }
  const { counts } = await volley.status(outcome.id);
  return {
    problems,
    stops: stored.filter(({ effect }) => effect?.wish === 'stop').length,
    suppressed: counts.suppressed,
    late,
    inFlight,
    untimed,
    confirmed: confirmations.size,
    kills: killed,
    tookMs: performance.now() - began,
  };
}
