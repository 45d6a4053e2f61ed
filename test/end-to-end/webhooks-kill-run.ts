import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/base/clock.js';
import { type Receiver, startReceiver } from '../reporting/webhooks/fixture.js';
import { type Fleet, startFleet } from './fleet.js';
import { recipients } from './recipients.js';

export interface WebhooksKillRun {
  readonly redisUrl: string;
  readonly prefix: string;
  /** How often a process that delivers is killed. */
  readonly kills: number;
  readonly random: Random;
  onProgress?(line: string): void;
}

export interface WebhooksKillOutcome {
  readonly problems: readonly string[];
  readonly kills: number;
  /** Recipients that were sent to, each with a final result for every endpoint. */
  readonly recipients: number;
  /** Requests that the endpoints got, and how many of them repeated an id. */
  readonly requests: number;
  readonly repeated: number;
}

const ENDPOINTS = 3;
/** Recipients that are added before each kill. */
const PER_KILL = 400;
const QUIET_MS = 15_000;
const STUCK_AFTER_MS = 120_000;

/**
 * Kills the processes that deliver webhooks while campaigns are sent, and compares what the endpoints have after dropping repeated ids with
 * the reports: each final result, exactly once.
 */
export async function webhooksKillRun(run: WebhooksKillRun): Promise<WebhooksKillOutcome> {
  const receivers = await Promise.all(Array.from({ length: ENDPOINTS }, startReceiver));
  const fleet = await startFleet({
    redisUrl: run.redisUrl,
    prefix: run.prefix,
    workers: ['send', 'follow-up', 'webhooks', 'webhooks', 'webhooks'],
    settings: {
      // A busy machine must leave no outcome unknown: what was unknown and is final later is named twice, and both say the final state.
      REQUEST_TIMEOUT_MS: '20000',
      QUOTA_WINDOW_MS: '200000',
      SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
      WEBHOOK_ALLOW: '127.0.0.1',
    },
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 5 },
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
  { volley, members, kill, logged }: Fleet,
  receivers: readonly Receiver[],
  { kills, random, onProgress = () => {} }: WebhooksKillRun,
): Promise<WebhooksKillOutcome> {
  for (const receiver of receivers) {
    receiver.answer(async () => {
      await delay(20 + 80 * random());
      return 204;
    });
    receiver.secrets.push((await volley.webhooks.add({ url: receiver.url })).secret);
  }
  const requests = (): number => receivers.reduce((sum, { received }) => sum + received.length, 0);
  const delivering = members.filter(({ kind }) => kind === 'webhooks');
  const campaigns: string[] = [];
  for (let killed = 0; killed < kills; killed += 1) {
    const before = requests();
    campaigns.push(await newCampaign(volley, campaigns.length));
    // A request has arrived, so some process has requests in flight.
    for (const began = Date.now(); requests() === before && Date.now() - began < QUIET_MS; ) await delay(10);
    await delay(120 * random());
    const member = delivering[Math.floor(random() * delivering.length)];
    if (member !== undefined) await kill(member);
    if (killed % 10 === 9) onProgress(`${killed + 1} kills, ${requests()} requests`);
  }
  const expected = campaigns.length * PER_KILL;
  const finals = (receiver: Receiver): string[] =>
    receiver
      .results()
      .flatMap(({ status, campaign, reference }) =>
        status === 'deliveredToTerminal' ? [`${campaign} ${reference}`] : [],
      );
  const isComplete = (): boolean =>
    receivers.every((receiver) => new Set(finals(receiver)).size === expected);
  for (let [last, at] = [requests(), Date.now()]; !isComplete() && Date.now() - at < STUCK_AFTER_MS; ) {
    await delay(100);
    if (requests() !== last) [last, at] = [requests(), Date.now()];
  }
  const endpoints = await volley.webhooks.list();
  const unknown = logged('request.unknown').length;
  const problems = receivers.flatMap((receiver, at) => {
    const all = finals(receiver);
    const missing = expected - new Set(all).size;
    const twice = all.length - new Set(all).size;
    return [
      ...(unknown > 0 ? [`${unknown} requests had an unknown outcome, so this run shows nothing`] : []),
      ...receiver.problems,
      ...(missing > 0
        ? [`endpoint ${at}: ${missing} final results are missing; ${JSON.stringify(endpoints[at])}`]
        : []),
      ...(twice > 0 ? [`endpoint ${at}: ${twice} final results have two ids`] : []),
    ];
  });
  const ids = receivers.reduce((sum, { received }) => sum + new Set(received.map(({ id }) => id)).size, 0);
  return { problems, kills, recipients: expected, requests: requests(), repeated: requests() - ids };
}

async function newCampaign(volley: Fleet['volley'], at: number): Promise<string> {
  const list = [...recipients(PER_KILL)].map((one, index) => ({ ...one, reference: `${at}-${index}` }));
  const outcome = await volley.enqueue({ recipients: list, message: 'Hi', again: true });
  if (outcome.outcome === 'refused') throw new Error(`the campaign was not created: ${outcome.code}`);
  return outcome.id;
}
