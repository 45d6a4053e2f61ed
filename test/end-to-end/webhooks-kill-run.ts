import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/base/clock.js';
import { SETTLED_STATES } from '../../src/campaign/recipient.js';
import { groupBy } from '../faults/checks/group-by.js';
import { type Receiver, startReceiver } from '../reporting/webhooks/fixture.js';
import { type Fleet, startFleet } from './fleet.js';
import { recipients } from './recipients.js';

export interface WebhooksKillRun {
  readonly redisUrl: string;
  readonly prefix: string;
  /** How often processes that deliver are killed: one to three of three. */
  readonly kills: number;
  readonly random: Random;
  onProgress?(line: string): void;
}

export interface WebhooksKillOutcome {
  readonly problems: readonly string[];
  readonly kills: number;
  /** Recipients by their state in the reports. Every endpoint must have each of these states. */
  readonly states: Readonly<Record<string, number>>;
  /** Recipients of which an endpoint got a state that was not the last one, such as `unknown`. */
  readonly changed: number;
  /** Requests that the endpoints got, and how many of them repeated an id. */
  readonly requests: number;
  readonly repeated: number;
}

const ENDPOINTS = 3;
/** Recipients that are added before each kill. */
const PER_KILL = 400;
const QUIET_MS = 15_000;
const STUCK_AFTER_MS = 120_000;
const LOOK_EVERY_MS = 2_000;
/** The share of requests that are accepted without a response, so their outcome is unknown at first. */
const UNKNOWN = 0.1;
/** What becomes of the unknown outcomes of a campaign, by chance; null: they stay unknown. */
const RESOLVED_AS = ['accepted', 'resend', null] as const;

/**
 * Kills the processes that deliver webhooks while campaigns are sent and unknown outcomes are resolved, and compares what the endpoints have
 * after dropping repeated ids with the reports: the state of each recipient, and a final state exactly once.
 */
export async function webhooksKillRun(run: WebhooksKillRun): Promise<WebhooksKillOutcome> {
  const receivers = await Promise.all(Array.from({ length: ENDPOINTS }, startReceiver));
  const fleet = await startFleet({
    redisUrl: run.redisUrl,
    prefix: run.prefix,
    workers: ['send', 'follow-up', 'webhooks', 'webhooks', 'webhooks'],
    settings: {
      SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
      WEBHOOK_ALLOW: '127.0.0.1',
    },
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 5, faults: { resetAfter: UNKNOWN } },
  });
  try {
    await fleet.ready();
    return await killAll(fleet, receivers, run);
  } finally {
    await fleet.close();
    await Promise.all(receivers.map((receiver) => receiver.close()));
  }
}

async function killAll(
  { volley, members, kill }: Fleet,
  receivers: readonly Receiver[],
  { kills, random, onProgress = () => {} }: WebhooksKillRun,
): Promise<WebhooksKillOutcome> {
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
  for (let killed = 0; killed < kills; killed += 1) {
    const before = requests();
    const as = RESOLVED_AS[Math.floor(random() * RESOLVED_AS.length)];
    const last = campaigns.at(-1);
    if (last !== undefined && as) await volley.resolve(last, { as });
    campaigns.push(await newCampaign(volley, campaigns.length));
    // A request has arrived, so some process has requests in flight.
    for (const began = Date.now(); requests() === before && Date.now() - began < QUIET_MS; ) await delay(10);
    await delay(120 * random());
    const at = Math.floor(random() * delivering.length);
    await Promise.all(
      delivering.filter((_, each) => each === at || random() < 0.5).map((member) => kill(member)),
    );
    if (killed % 10 === 9) onProgress(`${killed + 1} kills, ${requests()} requests`);
  }
  const endpoints = () => volley.webhooks.list();
  const reported = new Map<string, string>();
  const open = new Set(campaigns);
  let problems = ['nothing was compared'];
  for (let [last, at] = ['', Date.now()]; Date.now() - at < STUCK_AFTER_MS; await delay(LOOK_EVERY_MS)) {
    const now = JSON.stringify([requests(), (await endpoints()).map(({ waitingCount }) => waitingCount)]);
    if (now !== last) {
      [last, at] = [now, Date.now()];
      continue;
    }
    // On a machine that is too busy to answer in time, the next look does it.
    if (!(await readReports(volley, open, reported).catch(() => false))) continue;
    problems = receivers.flatMap((receiver, index) =>
      problemsOf(reported, receiver).map((problem) => `endpoint ${index}: ${problem}`),
    );
    if (problems.length === 0) break;
  }
  if (problems.length > 0) problems.push(JSON.stringify(await endpoints()));
  const ids = receivers.reduce((sum, { received }) => sum + new Set(received.map(({ id }) => id)).size, 0);
  return {
    problems: [...receivers.flatMap((receiver) => receiver.problems), ...problems],
    kills,
    states: Object.fromEntries(
      [...groupBy(reported.values(), (state) => state)].map(([state, all]) => [state, all.length]),
    ),
    changed: receivers.reduce((sum, receiver) => {
      const got = receiver.results().map(({ campaign, reference }) => `${campaign} ${reference}`);
      return sum + got.length - new Set(got).size;
    }, 0),
    requests: requests(),
    repeated: requests() - ids,
  };
}

/** Reads the state of each recipient of the open campaigns; those with only final states are not open any more. Returns true. */
async function readReports(
  volley: Fleet['volley'],
  open: Set<string>,
  reported: Map<string, string>,
): Promise<true> {
  for (const campaign of open) {
    let isFinal = true;
    for await (const { reference, status } of volley.report(campaign)) {
      reported.set(`${campaign} ${reference}`, status);
      isFinal &&= SETTLED_STATES.some((settled) => settled === status);
    }
    if (isFinal) open.delete(campaign);
  }
  return true;
}

/** What an endpoint lacks, or got twice, with an example of each kind. */
function problemsOf(reported: ReadonlyMap<string, string>, receiver: Receiver): string[] {
  const got = groupBy(receiver.results(), ({ campaign, reference }) => `${campaign} ${reference}`);
  const wrong = [...reported].flatMap(([recipient, state]) => {
    const history = (got.get(recipient) ?? []).map(({ status }) => status);
    const count = history.filter((status) => status === state).length;
    const isFinal = SETTLED_STATES.some((settled) => settled === state);
    if (history.at(-1) === state && (count === 1 || !isFinal)) return [];
    return [
      { recipient, kind: `the report says ${state}, and the events ${history.join(', ') || 'nothing'}` },
    ];
  });
  return [...groupBy(wrong, ({ kind }) => kind)].map(
    ([kind, all]) => `${all.length} recipients, such as ${all[0]?.recipient}: ${kind}`,
  );
}

async function newCampaign(volley: Fleet['volley'], at: number): Promise<string> {
  const list = [...recipients(PER_KILL)].map((one, index) => ({ ...one, reference: `${at}-${index}` }));
  const outcome = await volley.enqueue({ recipients: list, message: 'Hi', again: true });
  if (outcome.outcome === 'refused') throw new Error(`the campaign was not created: ${outcome.code}`);
  return outcome.id;
}
