import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/base/clock.js';
import type { LedgerEntry } from '../../src/tools/simulator/ledger.js';
import { type Fleet, startFleet } from './fleet.js';
import { type Program, startProgram } from './program.js';

export interface OutboxSetRun {
  readonly redisUrl: string;
  readonly prefix: string;
  /** How often the settings of the outbox are changed. */
  readonly changes: number;
  /** Messages that wait through all changes. */
  readonly waiting: number;
  readonly random: Random;
  onProgress?(line: string): void;
}

/** Every promise that was broken, and how much happened. */
export interface OutboxSetOutcome {
  readonly problems: readonly string[];
  readonly changes: number;
  /** Changes whose process was killed, and those of them that had changed the settings by then. */
  readonly killedChanges: number;
  readonly halfDone: number;
  /** Workers that were killed. */
  readonly kills: number;
  readonly sent: number;
  readonly unknown: number;
  /** Waves that sent something, and settings with which they did. */
  readonly waves: number;
  readonly revisions: number;
}

/** A change that was acknowledged. */
interface Acknowledged {
  readonly revision: number;
  readonly at: number;
}

const NAME = 'set';
/** The service takes a while for each request, so that messages which are due together are planned for seconds before they are claimed. */
const LATENCY_MS = 300;
const AT_ONCE = 300;
const MOST_OPEN = 600;
const EVERY_MS = 100;
const HOUR_MS = 3_600_000;
const SETTLED_WITHIN_MS = 90_000;
/** The lease of a process that dies while it rewrites messages, and the time a worker then takes, on a busy machine. */
const REWRITTEN_WITHIN_MS = 45_000;
/** A process that is killed leaves at most its requests in flight. */
const IN_FLIGHT = 32;
/** A request that is in flight leaves within 2 s; the rest is for a busy machine. */
const IN_FLIGHT_MS = 3_000;

/** The settings of a revision: each has another text and time, and every second one needs a value that the first messages lack. */
const messageOf = (revision: number): string =>
  `{{text}} r${revision}${revision % 2 === 1 ? ' {{extra}}' : ''}`;
const ruleOf = (revision: number): string => `when - ${revision}s`;
const revisionIn = (text: string): number => Number(/ r(\d+)/.exec(text)?.[1] ?? Number.NaN);

/**
 * Changes the settings of an outbox with `volley outbox set` while messages are put, planned, and sent. Workers, and processes that make a
 * change, are killed with SIGKILL. Then everything is sent, and what the service has accepted is compared with what was acknowledged.
 */
export async function outboxSetRun(run: OutboxSetRun): Promise<OutboxSetOutcome> {
  const { redisUrl, prefix } = run;
  const fleet = await startFleet({
    redisUrl,
    prefix,
    workers: ['all', 'all'],
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: LATENCY_MS },
  });
  const set = (...args: readonly string[]): Program =>
    startProgram(
      'src/surfaces/cli/main.js',
      {
        REDIS_URL: redisUrl,
        REDIS_PREFIX: prefix,
        MESSAGING_BASE_URL: fleet.simulator.messagingBaseUrl,
        API_KEY: 'key',
        SENDER_ADDRESS: 'ACME',
      },
      ['outbox', 'set', NAME, '--yes', '--json', ...args],
    );
  try {
    await fleet.ready();
    return await changeAndSend(fleet, set, run);
  } finally {
    await fleet.close();
  }
}

async function changeAndSend(
  { volley, simulator, members, kill }: Fleet,
  set: (...args: readonly string[]) => Program,
  { changes, waiting, random, onProgress = () => {} }: OutboxSetRun,
): Promise<OutboxSetOutcome> {
  await volley.outboxes.create({
    name: NAME,
    message: messageOf(0),
    sendRule: ruleOf(0),
    zone: 'UTC',
  });
  const outbox = volley.outbox(NAME);
  const problems: string[] = [];
  const acknowledged: Acknowledged[] = [{ revision: 0, at: Date.now() }];
  /** When each message was put. */
  const putAt = new Map<string, number>();
  let [killedChanges, halfDone, kills, isOver] = [0, 0, 0, false];

  const put = async (messages: { id: string; when: number; extra?: string }[]): Promise<void> => {
    const list = messages.map(({ id, when, ...others }) => ({
      ...others,
      id,
      to: '+447700900123',
      text: id,
      when: new Date(when).toISOString(),
    }));
    for (const { id } of list) putAt.set(id, Date.now());
    for await (const { id, outcome, errors } of outbox.putAll(list))
      if (outcome !== 'created') problems.push(`${id} was ${outcome}: ${errors[0]?.message}`);
  };
  // They wait until the end.
  const waitUntil = Math.ceil(Date.now() / 1_000) * 1_000 + HOUR_MS;
  await put(Array.from({ length: waiting }, (_, at) => ({ id: `w${at}`, when: waitUntil })));

  /** The messages that wait through all changes and do not have these settings. */
  const outdated = async (revision: number): Promise<string[]> => {
    const found: string[] = [];
    const text = revision % 2 === 1 ? ` r${revision} given` : ` r${revision}`;
    const sendAt = new Date(waitUntil - 1_000 * revision).toISOString();
    for await (const message of outbox.report()) {
      if (!message.id.startsWith('w')) continue;
      const isNew = message.text === message.id + text && message.sendAt === sendAt;
      if (!isNew) found.push(`${message.id} is ${message.state}: ${message.text} at ${message.sendAt}`);
    }
    return found;
  };
  const open = async (): Promise<number> => {
    const { waiting: left, sending, deliveredToNetwork } = (await outbox.status()).counts;
    return left + sending + deliveredToNetwork;
  };
  const stored = async (): Promise<number> => revisionIn((await outbox.status()).message);

  const change = async (revision: number, isKilled: boolean): Promise<void> => {
    const values = revision % 2 === 1 ? ['--value', 'extra=given'] : [];
    const program = set('--message', messageOf(revision), '--send-rule', ruleOf(revision), ...values);
    if (!isKilled) {
      const code = await program.ended;
      if (code !== 0)
        problems.push(`the change to r${revision} ended with ${code}: ${program.log.join(' ')}`);
      acknowledged.push({ revision, at: Date.now() });
      const old = await outdated(revision);
      if (old.length > 0) problems.push(`after the change to r${revision}, ${old.length}: ${old[0]}`);
      return;
    }
    // Half of them die while they rewrite the messages, the others at any moment.
    if (random() < 0.5) while (program.isRunning && (await stored()) !== revision) await delay(5);
    else await delay(1_500 * random());
    await delay(100 * random());
    if ((await program.end('SIGKILL')) !== 0) killedChanges += 1;
    if ((await stored()) !== revision) return;
    let old = await outdated(revision);
    if (old.length > 0) halfDone += 1;
    for (const deadline = Date.now() + REWRITTEN_WITHIN_MS; old.length > 0 && Date.now() < deadline; ) {
      await delay(500);
      old = await outdated(revision);
    }
    if (old.length === 0) acknowledged.push({ revision, at: Date.now() });
    else problems.push(`no worker completed the change to r${revision}, ${old.length}: ${old[0]}`);
  };
  /** Waits until messages are being sent: a change, or a kill, should hit some. */
  const untilSent = async (): Promise<void> => {
    const before = (await simulator.summary()).recipients;
    const deadline = Date.now() + SETTLED_WITHIN_MS;
    while ((await simulator.summary()).recipients === before && Date.now() < deadline) await delay(20);
  };
  const changeAll = async (): Promise<void> => {
    for (let revision = 1; revision <= changes; revision += 1) {
      await untilSent();
      await delay(2_000 * random());
      // The last one is acknowledged.
      await change(revision, revision < changes && random() < 0.6);
      onProgress(`${revision} changes, ${halfDone} completed by a worker, ${kills} workers killed`);
    }
    isOver = true;
  };
  const fill = async (): Promise<void> => {
    for (let from = 0; !isOver; from += AT_ONCE) {
      while ((await open()) > waiting + MOST_OPEN && !isOver) await delay(EVERY_MS);
      // All are due in the same second, by the settings of now.
      const when = Date.now() + 1_000 * ((await stored()) + 2 * random());
      await put(Array.from({ length: AT_ONCE }, (_, at) => ({ id: `m${from + at}`, when, extra: 'own' })));
    }
  };
  const killOften = async (): Promise<void> => {
    while (!isOver) {
      await untilSent();
      await delay(6_000 * random());
      const member = members[kills % members.length];
      if (member === undefined || isOver) return;
      await kill(member);
      kills += 1;
    }
  };
  await Promise.all([changeAll(), fill(), killOften()]);
  const releasing = set('--send-rule', 'now');
  if ((await releasing.ended) !== 0) problems.push(`not all were released: ${releasing.log.join(' ')}`);

  let left = await open();
  for (let deadline = Date.now() + SETTLED_WITHIN_MS; left > 0 && Date.now() < deadline; ) {
    await delay(200);
    const now = await open();
    if (now < left) deadline = Date.now() + SETTLED_WITHIN_MS;
    left = now;
  }
  if (left > 0) problems.push(`${left} messages are still open`);

  const { total, ...states } = (await outbox.status()).counts;
  const sum = Object.values(states).reduce((all, count) => all + count, 0);
  if (sum !== total || total !== putAt.size)
    problems.push(`${putAt.size} messages, ${total} in all, ${sum} in states`);
  const accepted = new Map<string, LedgerEntry>();
  for (const entry of await simulator.ledger()) {
    const id = entry.text.split(' ')[0] ?? '';
    const before = accepted.get(id);
    if (before !== undefined) problems.push(`${id} is accepted twice: ${before.text}, ${entry.text}`);
    accepted.set(id, entry);
    problems.push(...wrongSettings(entry, putAt.get(id) ?? 0, acknowledged));
  }
  if (states.unknown > kills * IN_FLIGHT) problems.push(`${states.unknown} with an unknown outcome`);
  const textsOf = new Map<string, Set<number>>();
  let reported = 0;
  for await (const { id, state, campaign } of outbox.report()) {
    reported += 1;
    const text = accepted.get(id)?.text;
    const isSent = ['deliveredToTerminal', 'deliveryImpossible', 'unconfirmed'].includes(state);
    if (state !== 'unknown' && isSent !== (text !== undefined))
      problems.push(`${id} is ${state}, and ${text === undefined ? 'never' : 'once'} accepted`);
    if (text === undefined || campaign === null) continue;
    textsOf.set(campaign, (textsOf.get(campaign) ?? new Set()).add(revisionIn(text)));
  }
  if (reported !== putAt.size) problems.push(`${putAt.size} messages, ${reported} in the report`);
  for (const [wave, revisions] of textsOf)
    if (revisions.size > 1) problems.push(`wave ${wave} sent the texts ${[...revisions].join(', ')}`);
  return {
    problems,
    changes,
    killedChanges,
    halfDone,
    kills,
    sent: accepted.size,
    unknown: states.unknown,
    waves: textsOf.size,
    revisions: new Set([...textsOf.values()].flatMap((all) => [...all])).size,
  };
}

/** What is wrong with an accepted text, given when its message was put, and when changes were acknowledged. */
function wrongSettings(
  { text, at }: LedgerEntry,
  putAt: number,
  acknowledged: readonly Acknowledged[],
): string[] {
  const revision = revisionIn(text);
  const valid = revision % 2 === 1 ? /^(m\d+ r\d+ (own|given)|w\d+ r\d+ given)$/ : /^[mw]\d+ r\d+$/;
  if (!valid.test(text)) return [`${JSON.stringify(text)} is of no settings`];
  const stale = acknowledged.find(
    (change) => change.revision > revision && (change.at < putAt || change.at + IN_FLIGHT_MS < at),
  );
  return stale === undefined
    ? []
    : [
        `${text} was put at ${putAt} and accepted at ${at}, although r${stale.revision} was acknowledged at ${stale.at}`,
      ];
}
