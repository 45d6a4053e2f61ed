import { setTimeout as delay } from 'node:timers/promises';
import { type Program, startProgram } from '../../end-to-end/program.js';
import type { Attack } from './attack.js';

const NAME = 'set';
/** The service takes a while for each request, so that messages which are due together wait for seconds before they are claimed. */
const LATENCY_MS = 300;
const AT_ONCE = 300;
const MOST_OPEN = 600;
const EVERY_MS = 100;
const HOUR_MS = 3_600_000;
/** The lease of a process that dies while it rewrites messages, and the time a worker then takes, on a busy machine. */
const REWRITTEN_WITHIN_MS = 45_000;
/** A request that is in flight leaves within 2 s; the rest is for a busy machine. */
const IN_FLIGHT_MS = 3_000;

/** The settings of a revision: each has another text and time, and every second one needs a value that the first messages lack. */
const messageOf = (revision: number): string =>
  `{{text}} r${revision}${revision % 2 === 1 ? ' {{extra}}' : ''}`;
const ruleOf = (revision: number): string => `when - ${revision}s`;
const revisionIn = (text: string): number => Number(/ r(\d+)/.exec(text)?.[1] ?? Number.NaN);
/** The texts of a message with these settings. `own`: it has the value that others lack. */
const textsOf = (id: string, revision: number, own: boolean): string[] => {
  if (revision % 2 === 0) return [`${id} r${revision}`];
  return own ? [`${id} r${revision} own`, `${id} r${revision} given`] : [`${id} r${revision} given`];
};

/** A change that was acknowledged. */
interface Acknowledged {
  readonly revision: number;
  readonly at: number;
}

/**
 * Changes the settings of an outbox with `volley outbox set` while messages are put, claimed, and sent. Workers, and processes that make a
 * change, are killed.
 */
export const outboxSettings: Attack = {
  name: 'settings',
  promise:
    'After a change of an outbox is confirmed, no message is sent as before, and none twice or never, although workers and the process that changes it are killed',
  times: { of: 'changes', brief: 2, long: 30 },
  seed: 3,
  fleet: () => ({
    workers: ['all', 'all'],
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: LATENCY_MS },
  }),
  async run({ fleet, recorder, random, times, note, traffic, killOften, settled, expect }) {
    const { volley, simulator } = fleet;
    const set = (...args: readonly string[]): Program =>
      startProgram('src/surfaces/cli/main.js', fleet.environment, [
        'outbox',
        'set',
        NAME,
        '--yes',
        '--json',
        ...args,
      ]);
    await volley.outboxes.create({ name: NAME, message: messageOf(0), sendRule: ruleOf(0), zone: 'UTC' });
    const outbox = volley.outbox(NAME);
    recorder.watch(`outbox:${NAME}`);
    const acknowledged: Acknowledged[] = [{ revision: 0, at: Date.now() }];
    /** When each message was put. */
    const putAt = new Map<string, number>();
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
        expect(outcome === 'created', `${id} was ${outcome}: ${errors[0]?.message}`);
    };
    // They wait through all changes.
    const waitUntil = Math.ceil(Date.now() / 1_000) * 1_000 + HOUR_MS;
    const waiting = 100 * Math.max(3, times);
    await put(Array.from({ length: waiting }, (_, at) => ({ id: `w${at}`, when: waitUntil })));
    /** The messages that wait and do not have these settings. */
    const outdated = async (revision: number): Promise<string[]> => {
      const found: string[] = [];
      const sendAt = new Date(waitUntil - 1_000 * revision).toISOString();
      for await (const { id, state, text, sendAt: at } of outbox.report()) {
        const isNew = textsOf(id, revision, false)[0] === text && at === sendAt;
        if (id.startsWith('w') && !isNew) found.push(`${id} is ${state}: ${text} at ${at}`);
      }
      return found;
    };
    const open = async (): Promise<number> => {
      const { counts } = await outbox.status();
      return counts.waiting + counts.sending + counts.deliveredToNetwork;
    };
    const stored = async (): Promise<number> => revisionIn((await outbox.status()).message);
    let [halfDone, isOver] = [0, false];
    const change = async (revision: number, isKilled: boolean): Promise<void> => {
      const values = revision % 2 === 1 ? ['--value', 'extra=given'] : [];
      const program = set('--message', messageOf(revision), '--send-rule', ruleOf(revision), ...values);
      if (isKilled) {
        // Half of them die while they rewrite the messages, the others at any moment.
        if (random() < 0.5) while (program.isRunning && (await stored()) !== revision) await delay(5);
        else await delay(1_500 * random());
        await delay(100 * random());
        await program.end('SIGKILL');
        if ((await stored()) !== revision) return;
      } else {
        const code = await program.ended;
        expect(code === 0, `the change to r${revision} ended with ${code}: ${program.log.join(' ')}`);
        acknowledged.push({ revision, at: Date.now() });
      }
      let old = await outdated(revision);
      if (isKilled) {
        if (old.length > 0) halfDone += 1;
        // A worker completes it.
        for (const deadline = Date.now() + REWRITTEN_WITHIN_MS; old.length > 0 && Date.now() < deadline; ) {
          await delay(500);
          old = await outdated(revision);
        }
        if (old.length === 0) acknowledged.push({ revision, at: Date.now() });
      }
      expect(old.length === 0, `after the change to r${revision}, ${old.length} are old: ${old[0]}`);
    };
    const changeAll = async (): Promise<void> => {
      for (let revision = 1; revision <= times; revision += 1) {
        await traffic();
        await delay(2_000 * random());
        // The last one is acknowledged.
        await change(revision, revision < times && random() < 0.6);
        note(`${revision} changes, ${halfDone} completed by a worker`);
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
    const over = new AbortController();
    const killing = killOften(
      Number.POSITIVE_INFINITY,
      async () => {
        await traffic();
        await delay(6_000 * random());
      },
      over.signal,
    );
    await Promise.all([changeAll(), fill()]);
    over.abort();
    await killing;
    const releasing = set('--send-rule', 'now');
    expect((await releasing.ended) === 0, `not all were released: ${releasing.log.join(' ')}`);
    await settled();
    const revisions = Array.from({ length: times + 1 }, (_, revision) => revision);
    const texts = [...putAt.keys()].map((id) => [
      id,
      revisions.flatMap((revision) => textsOf(id, revision, id.startsWith('m'))),
    ]);
    recorder.answered(`outbox:${NAME}`, 'key', Object.fromEntries(texts));
    const sent = await simulator.ledger();
    for (const { text, at } of sent) {
      const put = putAt.get(text.split(' ')[0] ?? '') ?? 0;
      const stale = acknowledged.find(
        (one) => one.revision > revisionIn(text) && (one.at < put || one.at + IN_FLIGHT_MS < at),
      );
      expect(
        stale === undefined,
        `${text} was put at ${put} and accepted at ${at}, although r${stale?.revision} was acknowledged at ${stale?.at}`,
      );
    }
    // A request that was repeated has the text of the first one.
    const textOf = new Map<string, string>();
    for (const { text } of sent) {
      const [id = ''] = text.split(' ');
      const before = textOf.get(id) ?? text;
      textOf.set(id, text);
      expect(before === text, `${id} was sent as ${before}, and as ${text}`);
    }
    return { sent: sent.length, revisions: new Set(sent.map(({ text }) => revisionIn(text))).size - 1 };
  },
};
