import { setTimeout as delay } from 'node:timers/promises';
import { SETTLED_STATES } from '../../../src/campaign/states/recipient.js';
import { recipients } from '../../end-to-end/recipients.js';
import { type Receiver, startReceiver } from '../../reporting/webhooks/fixture.js';
import { groupBy } from '../checks/group-by.js';
import type { Attack } from './attack.js';

const ENDPOINTS = 3;
/** Recipients that are added before each kill. */
const PER_KILL = 400;
const QUIET_MS = 15_000;
const STUCK_AFTER_MS = 120_000;
/** The share of requests that are accepted without a response, so their outcome is unknown at first. */
const UNKNOWN = 0.1;
/** What becomes of the unknown outcomes of a campaign, by chance; null: they stay unknown. */
const RESOLVED_AS = ['accepted', 'resend', null] as const;

/** Kills the processes that deliver webhooks, one to three of three, while campaigns are sent and unknown outcomes are resolved. */
export const webhooks: Attack = {
  name: 'webhooks',
  promise:
    'Each endpoint gets every final result exactly once by the ids of its requests, although the processes that deliver are killed, and results were unknown before',
  times: { of: 'kills', brief: 4, long: 100 },
  seed: 3,
  fleet: () => ({
    workers: ['send', 'follow-up', 'webhooks', 'webhooks', 'webhooks'],
    settings: { SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'), WEBHOOK_ALLOW: '127.0.0.1' },
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 5, faults: { resetAfter: UNKNOWN } },
  }),
  async run({ fleet: { volley, members }, recorder, random, times, kill, settled, expect, note }) {
    const receivers = await Promise.all(Array.from({ length: ENDPOINTS }, startReceiver));
    try {
      for (const receiver of receivers) {
        receiver.answer(async () => {
          await delay(20 + 80 * random());
          return 204;
        });
        // A request that a killed process did not end may have had its effect, or not.
        receiver.forgetAborted(() => random() < 0.5);
        receiver.secrets.push((await volley.webhooks.add({ url: receiver.url })).secret);
      }
      const requests = (): number => receivers.reduce((sum, { received }) => sum + received.length, 0);
      const delivering = members.filter(({ kind }) => kind === 'webhooks');
      const campaigns: string[] = [];
      const lost = {
        fault: 'resetAfter',
        target: 'service',
        losesData: false,
        mayBeUnknown: times * PER_KILL,
      };
      await recorder.fault(lost, async () => {});
      for (let round = 0; round < times; round += 1) {
        const before = requests();
        const as = RESOLVED_AS[Math.floor(random() * RESOLVED_AS.length)];
        const last = campaigns.at(-1);
        if (last !== undefined && as) await recorder.command(last, as, () => volley.resolve(last, { as }));
        const list = [...recipients(PER_KILL)];
        campaigns.push(await recorder.launch({ recipients: list, message: `Hi ${round}` }, 'key'));
        // A request has arrived, so some process has requests in flight.
        for (const began = Date.now(); requests() === before && Date.now() - began < QUIET_MS; )
          await delay(10);
        await delay(120 * random());
        const at = Math.floor(random() * delivering.length);
        await Promise.all(delivering.filter((_, each) => each === at || random() < 0.5).map(kill));
      }
      await settled();
      const reported = new Map<string, string>();
      for (const campaign of campaigns)
        for await (const { to, status } of volley.report(campaign)) reported.set(`${campaign} ${to}`, status);
      const compare = (): string[] =>
        receivers.flatMap((receiver, index) =>
          problemsOf(reported, receiver).map((problem) => `endpoint ${index}: ${problem}`),
        );
      // What a killed process had in hand is delivered again after a while.
      for (const began = Date.now(); compare().length > 0 && Date.now() - began < STUCK_AFTER_MS; )
        await delay(1_000);
      for (const problem of [...receivers.flatMap(({ problems }) => problems), ...compare()])
        expect(false, problem);
      const ids = receivers.map(({ received }) => new Set(received.map(({ id }) => id)).size);
      note(
        `${requests() - ids.reduce((sum, count) => sum + count, 0)} of ${requests()} requests repeated an id`,
      );
      return { results: reported.size };
    } finally {
      await Promise.all(receivers.map((receiver) => receiver.close()));
    }
  },
};

/** What an endpoint lacks, or got twice, with an example of each kind. */
function problemsOf(reported: ReadonlyMap<string, string>, receiver: Receiver): string[] {
  const got = groupBy(receiver.results(), ({ campaign, to }) => `${campaign} ${to}`);
  const wrong = [...reported].flatMap(([recipient, state]) => {
    const history = (got.get(recipient) ?? []).map(({ status }) => status);
    const count = history.filter((status) => status === state).length;
    const isFinal = SETTLED_STATES.some((settled) => settled === state);
    if (history.at(-1) === state && (count === 1 || !isFinal)) return [];
    const kind = `the report says ${state}, and the events ${history.join(', ') || 'nothing'}`;
    return [{ recipient, kind }];
  });
  return [...groupBy(wrong, ({ kind }) => kind)].map(
    ([kind, all]) => `${all.length} recipients, such as ${all[0]?.recipient}: ${kind}`,
  );
}
