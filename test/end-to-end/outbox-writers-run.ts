import { setTimeout as delay } from 'node:timers/promises';
import { createVolley } from '../../src/app/runtime.js';
import type { Random } from '../../src/base/clock.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { type Fleet, startFleet } from './fleet.js';

export interface OutboxWritersRun {
  readonly redisUrl: string;
  readonly prefix: string;
  /** How many ids two writers fight for. */
  readonly ids: number;
  /** How many worker processes are killed meanwhile. */
  readonly kills: number;
  readonly random: Random;
}

export interface OutboxWritersOutcome {
  readonly problems: readonly string[];
  readonly ids: number;
  readonly kills: number;
  /** How often each pair of answers was given. */
  readonly answers: Readonly<Record<string, number>>;
  readonly sent: number;
  readonly unknown: number;
}

/** Two writers, each with a Volley of its own, and what was acknowledged of each id. */
interface Writers {
  readonly first: Fleet['volley'];
  readonly second: Fleet['volley'];
}

/** What one race may send, and how its writers were answered. */
interface Race {
  readonly answers: string;
  /** The only text that may be sent; null: none. */
  readonly text: string | null;
  /** What is wrong with the answers. */
  readonly problems: readonly string[];
}

const NUMBER = '+447700900123';
const AT_ONCE = 40;
const SETTLED_WITHIN_MS = 90_000;

/**
 * A message that is planned is cancelled. Then one writer puts it with version 2, and another one cancels it with version 3. Once that
 * cancel is confirmed, the message must never be sent.
 */
export async function cancelledRace({ first, second }: Writers, id: string, random: Random): Promise<Race> {
  const message = (version: number) => ({ id, to: NUMBER, text: `${id} ${version}`, version });
  const outbox = first.outbox('race');
  await outbox.put(message(1));
  const before = await outbox.cancel(id);
  if (before.outcome !== 'cancelled') return { answers: 'sent before', text: `${id} 1`, problems: [] };
  // On a busy machine, the writer with fewer calls wins each race; so every fourth cancel waits for the put.
  const isAfter = random() < 0.25;
  const putting = delay(4 * random()).then(() => outbox.put(message(2)));
  const start = isAfter ? putting : delay(4 * random());
  const cancelling = start.then(() => second.outbox('race').cancel(id, { version: 3 }));
  const [put, cancel] = await Promise.all([putting, cancelling]);
  const [putDone, cancelDone] = [put.code ?? put.outcome, cancel.code ?? cancel.outcome];
  const answers = `put ${putDone}, cancel ${cancelDone}`;
  const isKnown = ['created', 'ended'].includes(putDone) && ['cancelled', 'sent'].includes(cancelDone);
  // A put that came after the cancel must not be accepted, and one that was refused cannot have been sent.
  const isTrue = isKnown && (cancelDone === 'cancelled' || putDone === 'created');
  return {
    answers,
    text: cancelDone === 'sent' ? `${id} 2` : null,
    problems: isTrue ? [] : [`${id}: ${answers}`],
  };
}

/** Two writers put the same id with the versions 2 and 3 around the time at which version 1 is due. */
export async function versionsRace({ first, second }: Writers, id: string, random: Random): Promise<Race> {
  const dueAt = 1_000 * Math.ceil(Date.now() / 1_000 + 0.3);
  const message = (version: number) => ({
    id,
    to: NUMBER,
    text: `${id} ${version}`,
    version,
    sendAt: new Date(dueAt).toISOString(),
  });
  await first.outbox('race').put(message(1));
  const around = dueAt - 150 + 500 * random();
  const at = async (): Promise<void> => delay(Math.max(0, around + 6 * random() - Date.now()));
  const [second2, third] = await Promise.all([
    at().then(() => first.outbox('race').put(message(2))),
    at().then(() => second.outbox('race').put(message(3))),
  ]);
  const [secondDone, thirdDone] = [second2.code ?? second2.outcome, third.code ?? third.outcome];
  const answers = `version 2 ${secondDone}, version 3 ${thirdDone}`;
  const isThird = thirdDone === 'updated';
  const problems: string[] = [];
  if (!['updated', 'stale', 'sent'].includes(secondDone)) problems.push(`${id}: ${answers}`);
  if (!['updated', 'sent'].includes(thirdDone)) problems.push(`${id}: ${answers}`);
  if (secondDone === 'stale' && !isThird)
    problems.push(`${id}: version 2 is stale, but version 3 is ${thirdDone}`);
  const version = isThird ? 3 : secondDone === 'updated' ? 2 : 1;
  return { answers, text: `${id} ${version}`, problems };
}

/**
 * Lets two writers fight for ids while worker processes are killed, and compares what the service has accepted with what they were
 * answered: each id at most once, with the text of the version that was acknowledged last, and nothing whose cancel was confirmed.
 */
export async function outboxWritersRun(
  { redisUrl, prefix, ids, kills, random }: OutboxWritersRun,
  race: typeof cancelledRace,
): Promise<OutboxWritersOutcome> {
  const fleet = await startFleet({
    redisUrl,
    prefix,
    workers: ['all', 'all'],
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 20 },
  });
  const second = createVolley({
    config: loadConfig({
      REDIS_URL: redisUrl,
      REDIS_PREFIX: prefix,
      MESSAGING_BASE_URL: fleet.simulator.messagingBaseUrl,
      API_KEY: 'key',
      SENDER_ADDRESS: 'ACME',
    }),
    events: createEvents({ level: 'silent' }),
  });
  try {
    await fleet.ready();
    await fleet.volley.outboxes.create({ name: 'race', message: '{{text}}' });
    const races = new Map<string, Race>();
    const writers = { first: fleet.volley, second };
    let begun = 0;
    const fight = async (): Promise<void> => {
      while (begun < ids) {
        const id = `m${begun}`;
        begun += 1;
        races.set(id, await race(writers, id, random));
      }
    };
    let isOver = false;
    let killed = 0;
    const killOften = async (): Promise<void> => {
      while (!isOver && killed < kills) {
        await delay(1_500 * random());
        const member = fleet.members[killed % fleet.members.length];
        if (member !== undefined) await fleet.kill(member);
        killed += 1;
      }
    };
    const killing = killOften();
    await Promise.all(Array.from({ length: AT_ONCE }, fight));
    isOver = true;
    await killing;
    const { unknown, isSettled } = await settled(fleet);
    const problems = [...races.values()].flatMap((one) => one.problems);
    if (!isSettled) problems.push('not settled in time');
    const sent = new Map<string, number>();
    for (const { text } of await fleet.simulator.ledger()) sent.set(text, (sent.get(text) ?? 0) + 1);
    let missing = 0;
    for (const [id, { answers, text }] of races) {
      for (const version of [1, 2, 3]) {
        const times = sent.get(`${id} ${version}`) ?? 0;
        const isWanted = text === `${id} ${version}`;
        if (times > 1 || (times === 1 && !isWanted))
          problems.push(`${id} ${version} was sent ${times} times, although ${answers}`);
        if (isWanted && times === 0) missing += 1;
      }
    }
    // What a killed process had in flight may not have reached the service.
    if (missing > unknown) problems.push(`${missing} were not sent, and only ${unknown} are unknown`);
    const answers: Record<string, number> = {};
    for (const one of races.values()) answers[one.answers] = (answers[one.answers] ?? 0) + 1;
    return { problems, ids, kills: killed, answers, sent: sent.size, unknown };
  } finally {
    await second.close();
    await fleet.close();
  }
}

/** Waits until nothing is open, and returns how many outcomes are unknown. */
async function settled({ volley }: Fleet): Promise<{ unknown: number; isSettled: boolean }> {
  for (const deadline = Date.now() + SETTLED_WITHIN_MS; ; ) {
    const { waiting, sending, deliveredToNetwork, unknown } = (await volley.outbox('race').status()).counts;
    const isSettled = waiting + sending + deliveredToNetwork === 0;
    if (isSettled || Date.now() > deadline) return { unknown, isSettled };
    await delay(200);
  }
}
