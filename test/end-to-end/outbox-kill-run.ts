import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/base/clock.js';
import { type Fleet, startFleet } from './fleet.js';

export interface OutboxKillOptions {
  readonly redisUrl: string;
  readonly prefix: string;
  /** How many worker processes are killed. */
  readonly kills: number;
  readonly random: Random;
  onProgress(line: string): void;
}

/** What became of the messages, and every promise that was broken. */
export interface OutboxKillOutcome {
  readonly problems: readonly string[];
  readonly messages: number;
  readonly moved: number;
  readonly cancelled: number;
  readonly sent: number;
  readonly unknown: number;
  /** Ids in the results. */
  readonly learned: number;
  readonly tookMs: number;
}

const AT_ONCE = 20;
const EVERY_MS = 250;
const SETTLED_WITHIN_MS = 90_000;
/** With more that wait, a busy machine gets time to send them: a kill should hit messages that are new. */
const MOST_WAITING = 2_000;
/** A process that is killed leaves at most its requests in flight. */
const IN_FLIGHT = 32;

/**
 * Puts, moves, and cancels messages of an outbox, often as they become due, while the worker processes are killed with SIGKILL. Then it
 * waits until everything is settled, and compares what the service has accepted, and what the results say, with what the outbox has
 * acknowledged.
 */
export async function outboxKillRun(options: OutboxKillOptions): Promise<OutboxKillOutcome> {
  const { redisUrl, prefix } = options;
  const fleet = await startFleet({
    redisUrl,
    prefix,
    workers: ['all', 'all'],
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 20 },
  });
  try {
    await fleet.ready();
    return await killOutbox(fleet, options);
  } finally {
    await fleet.close();
  }
}

async function killOutbox(
  { volley, simulator, members, kill }: Fleet,
  { kills, random, onProgress }: OutboxKillOptions,
): Promise<OutboxKillOutcome> {
  const began = performance.now();
  await volley.outboxes.create({ name: 'kill', message: '{{text}}' });
  const outbox = volley.outbox('kill');
  /** The text that was acknowledged last under each id. */
  const texts = new Map<string, string>();
  const cancelled = new Set<string>();
  let [moved, killed] = [0, 0];

  const message = (id: string, revision: number) => ({
    id,
    to: '+447700900123',
    text: `${id} ${revision}`,
    // Some are due at once, the others within seconds.
    ...(random() < 0.2 ? {} : { sendAt: new Date(Date.now() + 3_000 * random()).toISOString() }),
  });
  const fill = async (): Promise<void> => {
    const added = Array.from({ length: AT_ONCE }, (_, at) => message(`m${texts.size + at}`, 1));
    for await (const { id, outcome } of outbox.putAll(added)) {
      if (outcome !== 'created') throw new Error(`${id} was ${outcome}`);
      texts.set(id, `${id} 1`);
    }
  };
  /** One of the last messages: they are waiting, due, in flight, or sent. */
  const recent = (): string => `m${Math.max(0, texts.size - 1 - Math.floor(random() * 10 * AT_ONCE))}`;
  const move = async (): Promise<void> => {
    const id = recent();
    const revision = Number(texts.get(id)?.split(' ')[1] ?? 0) + 1;
    const { outcome } = await outbox.put(message(id, revision));
    if (outcome !== 'updated') return;
    texts.set(id, `${id} ${revision}`);
    moved += 1;
  };
  const cancel = async (): Promise<void> => {
    const { id, outcome } = await outbox.cancel(recent());
    if (outcome === 'cancelled') cancelled.add(id);
  };
  const produce = async (): Promise<void> => {
    while (killed < kills) {
      if ((await outbox.status()).counts.waiting < MOST_WAITING) await fill();
      for (let at = 0; at < AT_ONCE / 4; at += 1) await (random() < 0.5 ? move() : cancel());
      await delay(EVERY_MS);
    }
  };
  const killAll = async (): Promise<void> => {
    for (; killed < kills; killed += 1) {
      const before = (await simulator.summary()).recipients;
      const deadline = Date.now() + SETTLED_WITHIN_MS;
      // A kill hits what is being sent, not a start.
      while ((await simulator.summary()).recipients === before && Date.now() < deadline) await delay(20);
      await delay(400 * random());
      const member = members[killed % members.length];
      if (member !== undefined) await kill(member);
      onProgress(`${killed + 1} kills, ${texts.size} messages, ${cancelled.size} cancelled`);
    }
  };
  /** What a platform last learned of each id from the results. */
  const learned = new Map<string, string>();
  let cursor: string | undefined;
  const learn = async (): Promise<void> => {
    for (let hasMore = true; hasMore; ) {
      const page = await volley.results({ cursor: cursor, limit: 1_000 });
      for (const { message: id, status } of page.results) if (id !== null) learned.set(id, status);
      cursor = page.nextCursor;
      hasMore = page.hasMore;
    }
  };
  const follow = async (): Promise<void> => {
    while (killed < kills) {
      await learn();
      await delay(2 * EVERY_MS);
    }
  };
  await Promise.all([produce(), killAll(), follow()]);

  const unsettled = async (): Promise<number> => {
    const { waiting, sending, deliveredToNetwork } = (await outbox.status()).counts;
    return waiting + sending + deliveredToNetwork;
  };
  let left = await unsettled();
  for (let deadline = Date.now() + SETTLED_WITHIN_MS; left > 0 && Date.now() < deadline; ) {
    await delay(200);
    const now = await unsettled();
    if (now < left) deadline = Date.now() + SETTLED_WITHIN_MS;
    left = now;
  }

  const { total, ...states } = (await outbox.status()).counts;
  const ledger = (await simulator.ledger()).map(({ text }) => text);
  const problems: string[] = [];
  const expect = (isSo: boolean, problem: string): void => {
    if (!isSo) problems.push(problem);
  };
  expect(states.waiting + states.sending + states.deliveredToNetwork === 0, 'not settled in time');
  const sum = Object.values(states).reduce((all, count) => all + count, 0);
  expect(sum === total && total === texts.size, `${texts.size} messages, ${total} in all, ${sum} in states`);
  expect(states.cancelled === cancelled.size, `${cancelled.size} cancelled, ${states.cancelled} counted`);
  expect(states.unknown <= kills * IN_FLIGHT, `${states.unknown} with an unknown outcome`);
  const accepted = new Map<string, string>();
  for (const text of ledger) {
    const id = text.split(' ')[0] ?? '';
    expect(!accepted.has(id), `${id} is accepted twice: ${accepted.get(id)}, ${text}`);
    expect(!cancelled.has(id), `${id} is accepted, but its cancel was confirmed`);
    expect(texts.get(id) === text, `${text} is accepted instead of ${texts.get(id)}`);
    accepted.set(id, text);
  }
  await learn();
  for await (const { id, state } of outbox.report())
    expect(
      learned.get(id) === state,
      `${id} is ${state}, but the results say ${learned.get(id) ?? 'nothing'}`,
    );
  expect(learned.size === texts.size, `${texts.size} messages, ${learned.size} in the results`);
  const answered = states.deliveredToTerminal + states.deliveryImpossible + states.unconfirmed;
  expect(
    accepted.size >= answered && accepted.size <= answered + states.unknown,
    `${accepted.size} accepted, ${answered} delivered, ${states.unknown} unknown`,
  );
  return {
    problems,
    messages: texts.size,
    moved,
    cancelled: cancelled.size,
    sent: accepted.size,
    unknown: states.unknown,
    learned: learned.size,
    tookMs: performance.now() - began,
  };
}
