import { expect, onTestFinished, test, vi } from 'vitest';
import { checkStored } from '../../../src/app/doctor/lanes.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import type { Volley } from '../../../src/index.js';
import { SOON } from '../../base/soon.js';
import { startTcpProxy } from '../../faults/tcp-proxy.js';
import { scene } from '../../scene/scene.js';
import { storedLane } from '../../scene/stored.js';
import { ACME, laneProcesses, QUOTA, recipients } from './lane-processes.js';

const server = scene('lane-removal');
const { prefix, redis } = server;
const { create, operatorOf, processOf, rounds, sentWith, settled, simulator, until, waitsForPermits } =
  await laneProcesses(server);

/** How often a worker looks at the lanes that are being removed. */
const LOOK_MS = 15_000;
const IN_AN_HOUR = Date.now() + 3_600_000;
const storedOf = async (run: string) =>
  (await redis.hget(`{${prefix}-${run}:lanes:registry}:stored`, 'acme')) ?? '';
const isClosed = async (run: string) => / leaving /.test(await storedOf(run));
/** Resolves while no time passes. */
const untilClosed = (run: string) => vi.waitUntil(() => isClosed(run), SOON);

test('A removal needs the number of recipients that it cancels, and frees the name when the last report has arrived', async () => {
  const { port, pathname } = new URL(simulator.messagingBaseUrl);
  const service = await startTcpProxy(Number(port));
  onTestFinished(() => service.close());
  const MESSAGING_BASE_URL = `http://127.0.0.1:${service.port}${pathname}`;
  await processOf('removed', undefined, { FOLLOW_UP_FIRST_MS: '300', MESSAGING_BASE_URL }).work().ready;
  const volley = operatorOf('removed', { MESSAGING_BASE_URL });
  await volley.storedLanes.add('acme', { ...ACME, hourlyQuota: 100 });
  // Until the messages are answered, they have no report.
  service.hold();
  const sent = await create(volley, 'acme', 3);
  await until('it is sent', () => sentWith('acme') === 3);
  const later = { lane: 'acme', recipients: recipients(7), message: 'Later', sendAt: IN_AN_HOUR };
  expect((await volley.enqueue(later)).outcome).toBe('created');
  await volley.templates.put({ name: 'reminder', lane: 'acme', message: 'Hi' });
  expect(await volley.storedLanes.remove('acme', 3)).toEqual({ outcome: 'unexpected', recipientCount: 7 });
  expect(await settled(volley.storedLanes.remove('acme', 7))).toEqual({ outcome: 'removed', cancelled: 7 });
  await expect(create(volley, 'acme', 1)).rejects.toThrow('is being removed');
  await expect(volley.storedLanes.add('acme', { apiKey: 'new' })).rejects.toThrow('still being removed');
  const isSealed = async () => (await storedOf('removed')).includes('gcm:');
  await rounds(LOOK_MS, 3);
  expect(await isSealed()).toBe(true);
  service.release();
  await until('the credentials are deleted', async () => !(await isSealed()));
  expect(await volley.storedLanes.list()).toEqual([]);
  expect(await redis.exists(`{${prefix}-removed:acme}:templates`)).toBe(0);
  // Polls needed the credentials.
  expect(await volley.status(sent)).toMatchObject({
    lane: 'removed~acme',
    counts: { deliveredToTerminal: 3 },
  });
  // Another tenant may have the name, and sees nothing of the first one.
  expect(await volley.storedLanes.add('acme', { apiKey: 'new' })).toMatchObject({ id: 'acme~2' });
  await create(volley, 'acme', 1, 'From another');
  expect(await volley.list({ lanes: ['acme'] })).toHaveLength(1);
});

/** A campaign that waits. */
async function schedule(volley: Volley, count: number, message: string): Promise<string> {
  const input = { lane: 'acme', recipients: recipients(count), message, sendAt: IN_AN_HOUR };
  const outcome = await volley.enqueue(input);
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  return outcome.id;
}

test('A campaign whose list another process has begun to read before a lane is removed is not cancelled with it', async () => {
  const [volley, other] = [operatorOf('closing'), operatorOf('closing')];
  await volley.storedLanes.add('acme', ACME);
  await schedule(volley, 7, 'Before');
  let begun = (): void => {};
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const importing = other.enqueue({
    lane: 'acme',
    message: 'Meanwhile',
    sendAt: IN_AN_HOUR,
    recipients: (async function* () {
      yield* recipients(4);
      begun();
      await untilClosed('closing');
      yield { to: '+447700900999' };
    })(),
  });
  await isBegun;
  const removing = volley.storedLanes.remove('acme', 7);
  const outcome = await importing;
  const late = outcome.outcome === 'created' ? outcome.id : '';
  expect(await settled(removing)).toEqual({ outcome: 'unexpected', recipientCount: 12 });
  expect((await volley.storedLanes.get('acme')).state).toBe('active');
  expect((await volley.status(late)).counts.planned).toBe(5);
  await schedule(other, 1, 'Afterwards');
  const removed = await settled(volley.storedLanes.remove('acme', 13));
  expect(removed).toEqual({ outcome: 'removed', cancelled: 13 });
});

test('A lane is removed only when an operator has settled what may have been sent before it was cancelled', async () => {
  const settings = { REQUEST_TIMEOUT_MS: '1000' };
  await processOf('set-aside', undefined, settings).work().ready;
  const volley = operatorOf('set-aside', settings);
  await volley.storedLanes.add('acme', ACME);
  const campaign = await schedule(volley, 7, 'Later');
  // An operator has resolved two of them with `resend`.
  const keys = keyNames(`${prefix}-set-aside`);
  const resent = [{ first: 0, count: 2, again: 'byOperator', firstAt: 1 }];
  await storedLane({ redis, keys, id: 'acme' }).changeState(campaign, { released: resent, cursor: 2 });
  expect(await settled(volley.storedLanes.remove('acme', 7))).toEqual({ outcome: 'removed', cancelled: 5 });
  await rounds(LOOK_MS, 3);
  expect((await volley.storedLanes.get('acme')).state).toBe('leaving');
  const isUnknown = async () => (await volley.status(campaign)).counts.unknown === 2;
  await vi.waitUntil(isUnknown, SOON);
  await rounds(LOOK_MS, 3);
  await volley.resolve(campaign, { as: 'abandon' });
  await until('it is removed', async () => (await volley.storedLanes.list()).length === 0);
  expect((await volley.status(campaign)).counts).toMatchObject({ cancelled: 5, abandoned: 2, sending: 0 });
});

test('If a process dies while it removes a lane, nothing is cancelled before the removal is repeated', async () => {
  const worker = processOf('died');
  await worker.work().ready;
  for (const [repeated, outcome] of [
    [3, { outcome: 'unexpected', recipientCount: 7 }],
    [7, { outcome: 'removed', cancelled: 7 }],
  ] as const) {
    const [dying, operator] = [operatorOf('died'), operatorOf('died')];
    if (repeated === 3) {
      await dying.storedLanes.add('acme', ACME);
      await schedule(dying, 7, 'Later');
    }
    const removing = dying.storedLanes.remove('acme', 7).catch(() => {});
    await untilClosed('died');
    await dying.close();
    await settled(removing);
    await rounds(LOOK_MS, 4);
    expect(await isClosed('died')).toBe(true);
    const details = await operator.storedLanes.get('acme');
    expect(checkStored(details)).toMatchObject([
      { state: 'warn', message: expect.stringContaining('removal') },
    ]);
    expect(await settled(operator.storedLanes.remove('acme', repeated))).toEqual(outcome);
    const state = outcome.outcome === 'removed' ? 'leaving' : 'active';
    expect(await operator.storedLanes.get('acme')).toMatchObject({ state });
  }
});

test.each([
  ['before its last report', 'leaving', 'acme'],
  ['after it was removed', 'removed', 'acme'],
  ['under another name', 'removed', 'other'],
])('A lane that is added again %s continues the quota of its credentials', async (_, state, name) => {
  const run = `again-${state}-${name}`;
  const worker = processOf(run, undefined, { FOLLOW_UP_FIRST_MS: state === 'leaving' ? '50000' : '300' });
  await worker.work().ready;
  const volley = operatorOf(run);
  const quota = 2 * QUOTA;
  await volley.storedLanes.add('acme', { ...ACME, hourlyQuota: quota });
  await create(volley, 'acme', 6);
  await until('it is sent', () => sentWith('acme') === 6);
  expect(await settled(volley.storedLanes.remove('acme', 0))).toMatchObject({ outcome: 'removed' });
  if (state === 'removed')
    await until('it is gone', async () => (await volley.storedLanes.list()).length === 0);
  await volley.storedLanes.add(name, { ...ACME, hourlyQuota: quota });
  const again = await create(volley, name, 2 * quota, 'Again');
  await until('the rest of the quota is used', () => waitsForPermits(volley, again));
  // Ends what it has begun.
  await worker.close();
  const requests = [...simulator.arrivals()].filter(({ key }) => key === 'acme').length;
  expect(requests).toBeLessThanOrEqual(quota);
});
