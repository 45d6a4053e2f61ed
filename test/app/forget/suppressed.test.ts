import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { ADA, ada, enqueue, installation, LANE, others } from './installation.js';

const server = testRedis('forget-suppressed');
const { redis } = server;

test('A number that stays suppressed is stored only as a keyed digest, and no list sends to it until it is removed', async () => {
  const own = installation(server, 'kept');
  const { volley, withAda, keys } = own;
  await volley.suppression.add([ADA.number], { lane: LANE });
  expect(await volley.forget(ADA.number, { keepSuppressed: true })).toMatchObject({
    state: 'done',
    suppressed: true,
  });
  expect(await withAda()).toEqual([]);
  expect(await redis.hlen(keys.suppression.digests)).toBe(1);
  const statuses = async (id: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const { status } of volley.report(id)) found.push(status);
    return found;
  };
  expect(await statuses(await enqueue(own, [...others(2), ada]))).toEqual([
    'planned',
    'planned',
    'suppressed',
  ]);
  expect(await statuses(await enqueue(own, [ada]))).toEqual(['suppressed']);
  await volley.suppression.remove([ADA.number]);
  expect(await statuses(await enqueue(own, [...others(2), ada]))).toEqual(['planned', 'planned', 'planned']);
});

test('A number that is suppressed on a lane stays so after it is forgotten there, unless that is lifted', async () => {
  const own = installation(server, 'stop-stays', ['east', 'west']);
  const { volley } = own;
  const suppressedOn = async () => {
    const on: string[] = [];
    for (const lane of ['east', 'west']) {
      const { suppressed } = await volley.preview({ recipients: [{ to: ADA.number }], message: 'Hi', lane });
      if (suppressed === 1) on.push(lane);
    }
    return on;
  };
  await volley.inbound.receive({ lane: 'east', messageId: 'in', from: ADA.number, to: '1', text: 'STOP' });
  expect(await suppressedOn()).toEqual(['east']);
  const at = Date.now();
  expect(await volley.forget(ADA.number, { lane: 'west' })).toMatchObject({ suppressed: false });
  expect(await volley.forget(ADA.number, { lane: 'east' })).toMatchObject({ suppressed: true });
  expect(await own.withAda()).toEqual([]);
  expect(await suppressedOn()).toEqual(['east']);
  const [entry, ...others] = await volley.suppression.entries(ADA.number);
  expect(others).toEqual([]);
  expect(entry).toMatchObject({ lane: 'east', forgotten: true, operations: [] });
  expect(Date.parse(entry?.since ?? '')).toBeGreaterThanOrEqual(at - 1_000);

  // Nothing but that lifts it: not another request, nor one for another lane.
  expect(await volley.forget(ADA.number, { lane: 'east' })).toMatchObject({ suppressed: true });
  await volley.forget(ADA.number, { lane: 'west', liftSuppression: true });
  expect(await suppressedOn()).toEqual(['east']);
  const lifted = await volley.forget(ADA.number, { lane: 'east', liftSuppression: true });
  expect(lifted).toMatchObject({ suppressed: false });
  expect(await suppressedOn()).toEqual([]);
  expect(await volley.forget(ADA.number, { lane: 'west', keepSuppressed: true })).toMatchObject({
    suppressed: true,
  });
  expect(await suppressedOn()).toEqual(['west']);
  expect(await volley.suppression.remove([ADA.number], { lane: 'west' })).toEqual({
    operation: expect.any(String),
    lane: 'west',
    numberCount: 1,
  });
  expect(await suppressedOn()).toEqual([]);
  const both = { keepSuppressed: true, liftSuppression: true };
  await expect(volley.forget(ADA.number, both)).rejects.toThrow('not both');
});
