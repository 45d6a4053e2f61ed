import { describe, expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { LATE_MS, outboxFixture } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-due');
const outbox = () => outboxFixture(redis, prefix);

describe('A message that is due', () => {
  test('is claimed, sent, and settled under its id, and keeps no values once it is final', async () => {
    const own = await outbox();
    const follow = own.follow();
    expect(await own.put('a')).toMatchObject({ outcome: 'created' });
    const claims = await own.claim();
    expect(claims).toMatchObject([
      { campaign: 'outbox:dentist', first: 1, count: 1, message: 'a', edition: 0 },
    ]);
    const [claim] = claims;
    if (claim === undefined) throw new Error('nothing was claimed');
    expect(await own.textOf(claim)).toBe('Hi Ada');
    expect(await own.confirm(claim)).toBe(true);
    expect(await own.put('a')).toMatchObject({ outcome: 'unchanged' });
    expect(await own.cancel('a')).toBe('sent');
    await own.settle(claims, 'accepted');
    expect((await own.messages()).get('a')).toMatchObject({ state: 'deliveredToNetwork', values: ['Ada'] });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, deliveredToNetwork: 1 });
    own.advance(20_000);
    const polls = await own.claims.poll({ turn: 'p', call: 1, want: 10, now: own.now() });
    expect(polls.claims).toMatchObject([{ campaign: 'outbox:dentist', first: 1, message: 'a' }]);
    await own.settlements.poll(
      polls.claims.map((one) => ({
        claim: one,
        result: 'infos' as const,
        letters: 'T',
        requestId: `r-${claim.number}`,
      })),
      0.5,
      own.now(),
    );
    expect((await own.messages()).get('a')).toMatchObject({ state: 'deliveredToTerminal', values: [] });
    expect(await follow()).toMatchObject([
      { outbox: 'dentist', message: 'a', status: 'deliveredToTerminal' },
    ]);
    expect(await own.put('a')).toMatchObject({ outcome: 'unchanged' });
    expect(await own.put('a', undefined, { values: ['Bea'] })).toMatchObject({ outcome: 'sent' });
  });

  test('is sent with the settings that the outbox has right before its request', async () => {
    const own = await outbox();
    await own.put('a');
    const [before] = await own.claim();
    if (before === undefined) throw new Error('nothing was claimed');
    await own.set({ message: 'Bye {{name}}' });
    expect(await own.confirm(before)).toBe(false);
    await own.settle([before], 'released');
    const [after] = await own.claim();
    if (after === undefined) throw new Error('nothing was claimed');
    expect(await own.confirm(after)).toBe(true);
    expect(await own.textOf(after)).toBe('Bye Ada');
  });

  test('lapses when it is too late, and never holds up those behind it', async () => {
    const own = await outbox();
    await own.put('late');
    own.advance(LATE_MS - 1_000);
    await own.put('b');
    own.advance(1_000);
    expect(await own.idsOf(await own.claim())).toEqual(['b']);
    expect(await own.statesOf('late', 'b')).toEqual(['lapsed', 'sending']);
  });

  test('waits for further claims if more before it lapse than one script ends', async () => {
    const own = await outbox();
    await own.putAllNow(Array.from({ length: 4_500 }, (_, at) => `m${at}`));
    // Since then, the outbox is in the order.
    expect(await own.claim(1)).toHaveLength(1);
    own.advance(LATE_MS);
    await own.put('next');
    const ended: number[] = [];
    for (let turn = 1; turn <= 3; turn += 1) {
      const before = (await own.counts()).lapsed;
      const { why, againInMs, claims } = await own.claims.send({
        turn: `t${turn}`,
        call: 1,
        want: 9,
        now: own.now(),
      });
      ended.push((await own.counts()).lapsed - before);
      if (turn < 3) expect({ why, againInMs, claims }).toEqual({ why: 'more', againInMs: 0, claims: [] });
      else expect(await own.idsOf(claims)).toEqual(['next']);
    }
    expect(ended).toEqual([2_000, 2_000, 499]);
  });
});
