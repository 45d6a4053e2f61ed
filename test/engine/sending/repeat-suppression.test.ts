import { expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { compileTemplate } from '../../../src/campaign/text/template.js';
import type { CampaignContent } from '../../../src/engine/sending/campaign-content.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { draft } from '../../scene/draft.js';
import { laneFixture, openDefaultLane } from '../lane/lane-fixture.js';
import { ACCEPTED, sendOnce, startService } from './local-service.js';

const { redis, prefix } = testRedis('repeat-suppression');
const NUMBERS = ['+4915700000001', '+4915700000002'] as const;

/** A campaign of one batch, without an import. */
function content(): CampaignContent {
  const compiled = compileTemplate('Hi', []);
  if (!compiled.ok) throw new Error(compiled.reason);
  const { template } = compiled;
  const recipients = NUMBERS.map((number) => ({ number, values: [], reference: '' }));
  const meta = draft('c', { text: 'Hi' });
  return {
    text: async () => ({ meta, template }),
    recipients: async ({ first }, count) => recipients.slice(first, first + count),
  };
}

/** A lane that deduplicates, with a campaign of one batch. */
async function afterDeath(name: string) {
  const own = `${prefix}-${name}`;
  const fixture = laneFixture(redis, own, 'default');
  await fixture.campaign('c', 2, { batch: 2 });
  const opened = openDefaultLane(redis, own, {
    env: { MAX_RECIPIENTS_PER_REQUEST: '2' },
    change: { clientCorrelator: { deduplicatesForMs: 86_400_000 } },
  });
  const { lane } = opened;
  const list = suppression(redis, keyNames(own));
  const messages = openMessages(lane, content(), {
    areSuppressed: (numbers) => list.areSuppressed(lane.id, numbers),
    isOnlyBy: async () => false,
    lastRemoval: () => list.lastRemoval(lane.id),
  });
  const service = await startService(ACCEPTED);
  return {
    ...fixture,
    list,
    render: messages.render,
    service,
    /** The first request: claimed and rendered, then its worker dies. Returns whom it was sent to. */
    async dieAfterFirst(): Promise<readonly string[]> {
      const { claims } = await sendClaims(lane).take({ turn: 'dead', call: 1, want: 1 });
      const [first] = await messages.render(claims);
      const lost = claims.map(
        (claim) => ({ claim, result: 'unknown', overdue: true, reason: 'lost' }) as const,
      );
      await settleSends(lane, lost, 0);
      return first !== undefined && 'recipients' in first ? first.recipients : [];
    },
    repeat: () => sendOnce(opened, service, messages),
  };
}

test('A batch is not repeated after a number was removed from a suppression list: the first request may have left it out', async () => {
  const it = await afterDeath('removed');
  await it.list.add([NUMBERS[1]], SUPPRESSING);
  expect(await it.dieAfterFirst()).toEqual([NUMBERS[0]]);
  await it.list.remove([NUMBERS[1]], SUPPRESSING);
  await it.repeat();
  expect(it.service.received).toEqual([]);
  expect((await it.state('c')).counts).toMatchObject({ unknown: 2, planned: 0, sending: 0 });
  expect(await it.commands.unknown()).toMatchObject([
    { first: 0, count: 2, reason: expect.stringContaining('was removed from the suppression list') },
  ]);
});

test('A batch is repeated although numbers were added, or removed from the list of another lane', async () => {
  const it = await afterDeath('others');
  await it.list.add(['+4915700000009'], { ...SUPPRESSING, list: 'other' });
  expect(await it.dieAfterFirst()).toEqual(NUMBERS);
  await it.list.remove(['+4915700000009'], { ...SUPPRESSING, list: 'other' });
  await it.list.add(['+4915700000008'], SUPPRESSING);
  await it.repeat();
  expect(it.service.received).toHaveLength(1);
  expect((await it.state('c')).counts).toMatchObject({ unknown: 0, planned: 0, sending: 0 });
});

test('Only removals since the first request count, with a minute to spare; undoing an addition is one', async () => {
  const it = await afterDeath('times');
  const claim = { number: 1, turn: 't', campaign: 'c', first: 0, count: 2 };
  const mayDiffer = async (change: {
    again?: 'underCorrelator' | 'byOperator';
    firstAt?: number;
  }): Promise<unknown> => (await it.render([{ ...claim, ...change }]))[0];
  expect(await it.list.lastRemoval('default')).toBe(0);
  expect(await mayDiffer({ again: 'underCorrelator', firstAt: 1 })).not.toHaveProperty('firstMayDiffer');
  const added = await it.list.add([NUMBERS[1]], { ...SUPPRESSING, list: 'default' });
  await it.list.undo(added, SUPPRESSING.actor, 1);
  const removedAt = await it.list.lastRemoval('default');
  expect(removedAt).toBeGreaterThan(0);
  const late = { again: 'underCorrelator' as const, firstAt: removedAt + 59_999 };
  expect(await mayDiffer(late)).toMatchObject({ firstMayDiffer: true });
  expect(await mayDiffer({ ...late, firstAt: removedAt + 60_000 })).not.toHaveProperty('firstMayDiffer');
  expect(await mayDiffer({ ...late, again: 'byOperator' })).not.toHaveProperty('firstMayDiffer');
  expect(await mayDiffer({ firstAt: removedAt })).not.toHaveProperty('firstMayDiffer');
});
