import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PollClaim } from '../../../src/engine/follow-up/poll-claim.js';
import { readRecord } from '../../../src/engine/recipients/request-records.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('notify-property');
const EARLY_MS = 120_000;
const letters = fc.array(fc.constantFrom('N', 'N', 'T', 'T', 'I', '-'), { minLength: 4, maxLength: 4 });

/** The next step; `pick` chooses the claim that it applies to. */
const step = fc.record({
  what: fc.constantFrom(
    ...(['claim', 'settle', 'settle', 'notify', 'notify', 'notify', 'notify', 'again'] as const),
    ...(['round', 'poll', 'polled', 'wait'] as const),
  ),
  pick: fc.nat(997),
  result: fc.constantFrom('accepted', 'accepted', 'accepted', 'unknown', 'unauthorised'),
  letters,
  waitMs: fc.constantFrom(1, 500, 16_000, 40_000, EARLY_MS + 1, 260_000_000),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const isFinal = (letter: string | undefined): boolean => letter === 'T' || letter === 'I';
const digitsOf = (ordinal: number): string => String(358_400_000_000 + ordinal);
let lanes = 0;

/** A lane and its model: the status that each recipient must have, and the number of contradictions. */
async function ledgerOf(size: number, most: number) {
  lanes += 1;
  const name = `l${lanes}`;
  const rules = {
    quota: 1_000_000,
    maxRecipients: most,
    notify: true,
    early: EARLY_MS,
    heard: 600_000,
    patience: 20_000,
  } as const;
  const lane = laneFixture(redis, prefix, name, rules);
  await lane.campaign('c', size, { slice: 8 });
  const bytes = new Map<number, string>();
  const requests = new Map<string, SendClaim>();
  const early = new Map<string, { letters: Map<number, string>; until: number }>();
  const sends: SendClaim[] = [];
  let polls: PollClaim[] = [];
  let [now, call, contradictions] = [START, 0, 0];
  let last: { id: string; letters: string } | undefined;

  const ordinals = ({ first, count }: SendClaim) => Array.from({ length: count }, (_, at) => first + at);
  /** Joins a report into the model, whatever its source. */
  const report = (ordinal: number, letter: string): void => {
    const old = bytes.get(ordinal);
    if (!isFinal(letter) || old === undefined || old === 'U') return;
    if (isFinal(old)) contradictions += old === letter ? 0 : 1;
    else bytes.set(ordinal, letter);
  };
  const reportAll = (claim: SendClaim, all: string): void => {
    for (const [at, ordinal] of ordinals(claim).entries()) report(ordinal, all[at] ?? '-');
  };
  const expire = (): void => {
    for (const [id, { until }] of early) if (until <= now) early.delete(id);
  };
  const located = ({ campaign, first, count }: SendClaim) => ({ campaign, first, count });
  const isAwaited = (claim: SendClaim) =>
    ordinals(claim).some((ordinal) => /[NC]/.test(bytes.get(ordinal) ?? ''));

  /** Like the receiver: look the request up, then settle the report or let it wait. */
  const notify = async (id: string, claim: SendClaim, all: string): Promise<void> => {
    const [found] = await lane.notifications.locate([id]);
    const known = requests.get(id);
    expect([id, found !== null]).toEqual([id, known !== undefined && isAwaited(known)]);
    if (found !== null && found !== undefined) {
      await lane.notifications.settle([{ requestId: id, located: found, letters: all }], [], now);
      reportAll(claim, all);
      if (!isAwaited(claim)) early.delete(id);
      return;
    }
    const byDigits = Object.fromEntries(
      ordinals(claim).flatMap((ordinal, at) => {
        const letter = all[at] ?? '-';
        return letter === '-' ? [] : [[digitsOf(ordinal), letter]];
      }),
    );
    if (Object.keys(byDigits).length === 0) return;
    await lane.notifications.settle([], [{ requestId: id, sender: null, letters: byDigits }], now);
    expire();
    const held = early.get(id) ?? { letters: new Map<number, string>(), until: now + EARLY_MS };
    for (const [at, ordinal] of ordinals(claim).entries()) {
      const letter = all[at] ?? '-';
      if (letter !== '-' && !isFinal(held.letters.get(ordinal))) held.letters.set(ordinal, letter);
    }
    early.set(id, held);
  };

  const steps: Record<Step['what'], (it: Step) => Promise<void>> = {
    async claim({ pick }) {
      call += 1;
      await lane.commands.lane('resume');
      const want = 1 + (pick % 4);
      const reply = await lane.claims.send({ turn: `t${call}`, call: 1, want, seen: 0, now });
      sends.push(...reply.claims);
    },
    async settle({ pick, result, letters: all }) {
      const open = sends.filter((claim) => ordinals(claim).every((ordinal) => !bytes.has(ordinal)));
      const claim = open[pick % open.length];
      if (claim === undefined) return;
      const id = `r${claim.number}`;
      const own = all.join('').replaceAll('-', 'N').slice(0, claim.count);
      const entry =
        result === 'accepted'
          ? { claim, result, letters: own, requestId: id }
          : { claim, result, reason: 'x' };
      const { settled } = await lane.settlements.send(
        [entry as { claim: SendClaim; result: 'accepted' }],
        0,
        now,
      );
      sends.splice(sends.indexOf(claim), result === 'unauthorised' ? 1 : 0);
      if (settled === 0 || result === 'unauthorised') return;
      for (const [at, ordinal] of ordinals(claim).entries()) {
        bytes.set(ordinal, result === 'unknown' ? 'U' : (own[at] ?? 'N'));
      }
      if (result === 'accepted') requests.set(id, claim);
    },
    async notify({ pick, letters: all }) {
      const claim = sends[pick % sends.length];
      if (claim === undefined) return;
      const own = all.join('').slice(0, claim.count);
      last = { id: `r${claim.number}`, letters: own };
      await notify(last.id, claim, own);
    },
    async again() {
      const claim = sends.find(({ number }) => `r${number}` === last?.id);
      if (last !== undefined && claim !== undefined) await notify(last.id, claim, last.letters);
    },
    async round() {
      const waiting = await lane.notifications.waiting();
      const places = await lane.notifications.locate(waiting.map(({ requestId }) => requestId));
      for (const [at, one] of waiting.entries()) {
        const place = places[at];
        const claim = requests.get(one.requestId);
        if (place === null || place === undefined || claim === undefined) continue;
        expect(place).toEqual(located(claim));
        const all = ordinals(claim).map((ordinal) => one.letters[digitsOf(ordinal)] ?? '-');
        await lane.notifications.settle(
          [{ requestId: one.requestId, located: place, letters: all.join(''), stored: one.stored }],
          [],
          now,
        );
        reportAll(claim, all.join(''));
        early.delete(one.requestId);
      }
      expire();
    },
    async poll({ pick }) {
      if (pick % 4 > 0) now += 16_000;
      call += 1;
      const reply = await lane.claims.poll({ turn: `p${call}`, call: 1, want: 1 + (pick % 4), seen: 0, now });
      polls.push(...reply.claims);
    },
    async polled({ pick, letters: all }) {
      const claim = polls[pick % polls.length];
      const send = sends.find(({ first }) => first === claim?.first);
      if (claim === undefined || send === undefined) return;
      polls = polls.filter((other) => other !== claim);
      const own = all.join('').slice(0, send.count);
      const requestId = `r${send.number}`;
      const { settled } = await lane.settlements.poll(
        [{ claim, result: 'infos', letters: own, requestId }],
        0,
        now,
      );
      if (settled === 0) return;
      reportAll(send, own);
      const { sentAt = 0 } = (await readRecord(redis, lane.keys, name, 'c', send.first)) ?? {};
      if (now - sentAt < lane.rules.deadline) return;
      for (const ordinal of ordinals(send)) if (bytes.get(ordinal) === 'N') bytes.set(ordinal, 'C');
    },
    async wait({ waitMs }) {
      now += waitMs;
    },
  };

  const check = async (): Promise<void> => {
    const state = await lane.state('c');
    const stored = await lane.stored.letters('c');
    for (const [ordinal, letter] of bytes) expect([ordinal, stored[ordinal]]).toEqual([ordinal, letter]);
    expect(state['contradictions']).toBe(contradictions);
    expect(Object.values(state.counts).reduce((sum, count) => sum + count, 0)).toBe(size);
    const open = [...requests.values()].filter((claim) =>
      ordinals(claim).some((at) => bytes.get(at) === 'N'),
    );
    expect(await lane.stored.followed()).toEqual(open.map(({ first }) => `c:${first}`).sort());
    const ids = [...requests.keys()];
    const found = await lane.notifications.locate(ids);
    const indexed = ids.filter((_, at) => found[at] !== null);
    expect(indexed).toEqual([...requests].flatMap(([id, claim]) => (isAwaited(claim) ? [id] : [])));
    // Expired reports are removed by the next call; until then they may be there or not.
    const waiting = await lane.stored.waitingReports();
    expect(waiting.ids).toEqual(
      expect.arrayContaining([...early].filter(([, { until }]) => until > now).map(([id]) => id)),
    );
    expect(waiting.texts).toBe(waiting.ids.length);
  };

  return {
    async run(it: Step): Promise<void> {
      await steps[it.what](it);
      if (it.what !== 'wait') await check();
    },
  };
}

test('Whatever the source, order, and repetition of reports, each status only moves forward, and settled requests are not polled any more', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 16 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(step, { minLength: 20, maxLength: 80 }),
      async (size, most, all) => {
        const ledger = await ledgerOf(size, most);
        for (const it of all) await ledger.run(it);
      },
    ),
    { numRuns: NIGHTLY ? 100 : 25 },
  );
});
