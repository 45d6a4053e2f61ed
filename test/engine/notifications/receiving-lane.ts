import { expect, onTestFinished, vi } from 'vitest';
import { type Alarm, systemAlarm } from '../../../src/base/clock.js';
import { recentlySettled } from '../../../src/engine/notifications/batch-lookup.js';
import { createInbox, type Inbox } from '../../../src/engine/notifications/inbox.js';
import { matchStore } from '../../../src/engine/notifications/match-store.js';
import {
  type NotificationStore,
  notificationStore,
} from '../../../src/engine/notifications/notification-store.js';
import { ordinalNumbers } from '../../../src/engine/recipients/slices.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown } from '../../../src/engine/sending/unknown.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import type { DeliveryReport } from '../../../src/service/client/notification.js';
import type { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { importFixture, mobile } from '../../intake/import/import-fixture.js';

/** From so many ms on, an alarm is that of an inbox that waits to stop. */
const LONG_MS = 1_000;

/** Looks follow each other at once, however long they take. `stopWaits`: an inbox that waits to stop calls it for each time. */
export const lookAtOnce =
  (stopWaits = (ring: () => void): unknown => systemAlarm(2 * LONG_MS, ring)): Alarm =>
  (ms, ring) => {
    if (ms < LONG_MS) return systemAlarm(Math.min(ms, 5), ring);
    stopWaits(ring);
    return () => {};
  };

/** How many lanes the tests of this process have made. */
let fixtures = 0;

/** A lane with notifications, and a way to open inboxes for it. */
export function receivingLane(
  { redis, prefix }: Pick<ReturnType<typeof testRedis>, 'redis' | 'prefix'>,
  capacity = { left: 10_000 },
  rules: Partial<ScriptRules> = {},
) {
  fixtures += 1;
  const fixture = importFixture(redis, `${prefix}-${fixtures}`, {
    CALLBACK_URL: 'https://volley.example/in',
    CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
    HOURLY_QUOTA: '10000',
  });
  const { deps, keys, lanes, emitted } = fixture;
  const opened = lanes.get('default');
  if (opened === undefined) throw new Error('no lane');
  const lane = { ...opened, rules: { ...opened.rules, ...rules } };
  let looks = 0;
  const store = notificationStore(lane);
  const matches = matchStore(lane);
  const open = (as = lane, change: Partial<NotificationStore> = {}, alarm = lookAtOnce()): Inbox => {
    const waiting: NotificationStore['waiting'] = () => {
      looks += 1;
      return store.waiting();
    };
    const inbox = createInbox(as, {
      store: { ...store, waiting, ...change },
      matches,
      events: deps.events,
      numbers: ordinalNumbers(redis, keys),
      senderOf: async (of, campaign) => readMeta(redis, keys, of, campaign),
      alarm,
      monotonic: () => 0,
      capacity,
      recentlySettled: recentlySettled(1_000),
      lookMs: 50,
    });
    inbox.start();
    onTestFinished(() => inbox.stop());
    return inbox;
  };
  let turns = 0;
  return {
    ...fixture,
    lane,
    store,
    open,
    /** Resolves after at least two complete looks at the waiting reports. */
    async looked(): Promise<void> {
      const from = looks;
      await vi.waitFor(() => expect(looks).toBeGreaterThanOrEqual(from + 3), SOON);
    },
    async campaign(numbers: readonly number[], text: string): Promise<string> {
      const recipients = numbers.map((number) => ({ to: mobile(number) }));
      const outcome = await importCampaign(deps, { recipients, message: text, again: true });
      if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
      return outcome.id;
    },
    async claim(want: number): Promise<readonly SendClaim[]> {
      turns += 1;
      return (await sendClaims(lane).take({ turn: `t${turns}`, call: 1, want, seen: 0 })).claims;
    },
    async claimOne(): Promise<SendClaim> {
      const [claim] = await this.claim(1);
      if (claim === undefined) throw new Error('nothing to send');
      return claim;
    },
    /** Claims what there is, and settles it as unknown. */
    async fail(): Promise<void> {
      const entries = (await this.claim(9)).map(
        (claim) => ({ claim, result: 'unknown', reason: 'none' }) as const,
      );
      await settleSends(lane, entries, 0);
    },
    /** A campaign whose requests have unknown outcomes. */
    async unknown(numbers: readonly number[], text: string): Promise<string> {
      const id = await this.campaign(numbers, text);
      await this.fail();
      return id;
    },
    /** The requests to which unknown outcomes are matched; null: to none. */
    matches: async () => (await listUnknown(lane)).map(({ matchedRequestId }) => matchedRequestId),
    async accept(claim: SendClaim, requestId: string): Promise<void> {
      const entry = { claim, result: 'accepted', letters: 'N'.repeat(claim.count), requestId } as const;
      await settleSends(lane, [entry], 0);
    },
    async states(id: string): Promise<Record<string, number | undefined>> {
      return (await readState(redis, keys, 'default', id))?.counts ?? {};
    },
    happened: (type: string) => emitted.filter((event) => event.type === type),
  };
}

/** A report of the service about the recipient with this ordinal. */
export const report = (
  requestId: string,
  number: number,
  status: DeliveryReport['status'] = 'DeliveredToTerminal',
): DeliveryReport => ({ requestId, sender: '12345', correlator: null, number: mobile(number), status });
