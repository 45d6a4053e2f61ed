import { afterEach } from 'vitest';
import type { SpreadTime } from '../../../src/app/runtime/instance.js';
import type { Volley } from '../../../src/index.js';
import type { Scene } from '../../scene/scene.js';
import { virtualTime } from './virtual-time.js';

export const QUOTA = 10;
/** A lane whose whole quota is for messages. */
export const ACME = { apiKey: 'acme', hourlyQuota: QUOTA, pollShare: 0 };

type Settings = Readonly<Record<string, string>>;
const CONFIGURED: readonly object[] = [{ name: 'main', apiKey: 'configured' }];

export const recipients = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: `+4477009${10_000 + at}` }));

/**
 * Processes that share stored lanes and one service: workers, in whose time `until` and `rounds` wait, and operators, in whose time `settled`
 * does. So no worker looks at a lane while an operator removes it.
 */
export async function laneProcesses({ lanesFile, open, prefix, startSimulator }: Scene) {
  const simulator = await startSimulator({
    keys: ['configured', 'acme', 'beta', 'new'].map((key) => ({ key, quota: 1_000_000 })),
    magicRecipients: 'off',
    deliveryTime: 20,
  });
  const opened: Volley[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((volley) => volley.close()));
    simulator.clear();
  });
  const [workers, operators] = [virtualTime(), virtualTime()];
  /** How many messages the service has accepted with a key. */
  const sentWith = (key: string): number =>
    [...simulator.arrivals()].filter((arrival) => arrival.key === key && arrival.kind === 'send').length;

  const environmentOf = (run: string) => ({
    MESSAGING_BASE_URL: simulator.messagingBaseUrl,
    REDIS_PREFIX: `${prefix}-${run}`,
    SENDER_ADDRESS: 'ACME',
    SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
    FOLLOW_UP_FIRST_MS: '3600000',
    // A new worker waits for as long before it sends.
    REDIS_MAY_LOSE: '0s',
  });

  const opening = (run: string, lanes: readonly object[], more: Settings, time: SpreadTime): Volley => {
    const volley = open({ ...environmentOf(run), LANES_FILE: lanesFile(lanes), ...more }, { time });
    opened.push(volley);
    return volley;
  };

  return {
    simulator,
    sentWith,
    async create(volley: Volley, lane: string, count: number, message = 'Hi'): Promise<string> {
      const outcome = await volley.enqueue({ lane, recipients: recipients(count), message });
      if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
      return outcome.id;
    },
    /** Whether a campaign waits for the quota of its lane to return. */
    async waitsForPermits(volley: Volley, campaign: string): Promise<boolean> {
      return (await volley.status(campaign)).waitingFor === 'permits';
    },
    until: workers.until,
    rounds: workers.rounds,
    settled: operators.settled,
    environmentOf,
    /** A worker with these lanes in its configuration; by default, one with the key `configured`. */
    processOf: (run: string, lanes = CONFIGURED, more: Settings = {}) =>
      opening(run, lanes, more, workers.time),
    operatorOf: (run: string, more: Settings = {}) => opening(run, CONFIGURED, more, operators.time),
  };
}
