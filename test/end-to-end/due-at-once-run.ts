import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/base/clock.js';
import type { OutboxStatus } from '../../src/campaign/outbox-views.js';
import { type Fleet, startFleet } from './fleet.js';

export interface DueAtOnceRun {
  readonly redisUrl: string;
  readonly prefix: string;
  /** On both lanes together. */
  readonly messages: number;
  /** At most so many worker processes are killed while they send. */
  readonly kills: number;
  readonly random: Random;
  onProgress?(line: string): void;
}

export interface DueAtOnceOutcome {
  readonly problems: readonly string[];
  readonly messages: number;
  readonly kills: number;
  readonly sent: number;
  readonly unknown: number;
  /** Statuses that were read while messages were sent. */
  readonly statuses: number;
  readonly tookMs: number;
}

const LANES = ['a', 'b'] as const;
/** Puts that a busy machine stores per second, at least. */
const STORED_PER_SECOND = 2_000;
const READ_EVERY_MS = 100;
/** Without any progress. */
const STUCK_AFTER_MS = 90_000;

/**
 * Sends messages of two lanes that are all due in the same second, with three workers of which one is killed now and then, and compares
 * what the service has accepted with the messages, and the counts of every status with their total.
 */
export async function dueAtOnceRun(run: DueAtOnceRun): Promise<DueAtOnceOutcome> {
  const { redisUrl, prefix } = run;
  const fleet = await startFleet({
    redisUrl,
    prefix,
    // Without polls: what is accepted is on the network.
    workers: ['send', 'send', 'send'],
    lanes: LANES.map((name) => ({ name, apiKey: name, hourlyQuota: 1_000_000 })),
    simulator: { keys: LANES.map((key) => ({ key })), deliveryTime: 100, latency: 10 },
  });
  try {
    await fleet.ready();
    return await sendAll(fleet, run);
  } finally {
    await fleet.close();
  }
}

async function sendAll(
  { volley, simulator, members, kill }: Fleet,
  { messages, kills, random, onProgress = () => {} }: DueAtOnceRun,
): Promise<DueAtOnceOutcome> {
  const perLane = Math.ceil(messages / LANES.length);
  const total = perLane * LANES.length;
  const dueAt = new Date(1_000 * Math.ceil(Date.now() / 1_000 + 2 + total / STORED_PER_SECOND)).toISOString();
  const problems: string[] = [];
  const fill = async (lane: string): Promise<void> => {
    await volley.outboxes.create({ name: lane, lane, message: '{{text}}' });
    const list = Array.from({ length: perLane }, (_, at) => ({
      id: `m${at}`,
      to: '+447700900123',
      text: `${lane} ${at}`,
      sendAt: dueAt,
    }));
    for await (const { id, outcome } of volley.outbox(lane).putAll(list))
      if (outcome !== 'created') throw new Error(`${id} was ${outcome}`);
  };
  await Promise.all(LANES.map(fill));
  onProgress(`${total} messages are stored, due at ${dueAt}`);
  const began = performance.now();
  let statuses = 0;
  const read = async (lane: string): Promise<OutboxStatus['counts']> => {
    const found = (await volley.outbox(lane).status()).counts;
    const { total: counted, ...states } = found;
    const sum = Object.values(states).reduce((all, count) => all + count, 0);
    statuses += 1;
    if (counted !== perLane || sum !== counted)
      problems.push(`a status of lane ${lane} has ${counted} messages of ${perLane}, and ${sum} in states`);
    return found;
  };
  const open = ({ waiting, sending }: OutboxStatus['counts']): number => waiting + sending;
  let isOver = false;
  let killed = 0;
  const killOften = async (): Promise<void> => {
    while (killed < kills && !isOver) {
      // From the first messages to the last.
      const share = (killed + random()) / kills;
      while ((await simulator.summary()).recipients <= share * total && !isOver) await delay(READ_EVERY_MS);
      const member = members[killed % members.length];
      if (member === undefined || isOver) return;
      await kill(member);
      killed += 1;
    }
  };
  const killing = killOften();
  let [least, since] = [total, Date.now()];
  for (let left = total; left > 0; ) {
    left = (await Promise.all(LANES.map(read))).reduce((all, counts) => all + open(counts), 0);
    if (left < least) [least, since] = [left, Date.now()];
    if (Date.now() - since > STUCK_AFTER_MS) {
      problems.push(`${left} messages are still open`);
      break;
    }
    if (statuses % 200 === 0) onProgress(`${left} are open, ${killed} kills`);
    await delay(READ_EVERY_MS);
  }
  isOver = true;
  await killing;
  const last = await Promise.all(LANES.map(read));
  const count = (state: 'unknown' | 'deliveredToNetwork'): number =>
    last.reduce((all, counts) => all + counts[state], 0);
  const times = new Map<string, number>();
  for (const { text } of await simulator.ledger()) times.set(text, (times.get(text) ?? 0) + 1);
  for (const [text, often] of times) if (often > 1) problems.push(`${text} was accepted ${often} times`);
  const accepted = count('deliveredToNetwork');
  const unknown = count('unknown');
  if (accepted + unknown !== total)
    problems.push(`${accepted} of ${total} are accepted, and ${unknown} unknown`);
  if (times.size < accepted || times.size > accepted + unknown)
    problems.push(`the service accepted ${times.size}: ${accepted} are accepted, and ${unknown} unknown`);
  return {
    problems,
    messages: total,
    kills: killed,
    sent: times.size,
    unknown,
    statuses,
    tookMs: Math.round(performance.now() - began),
  };
}
