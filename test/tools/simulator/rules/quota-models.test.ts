import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createQuotaModel,
  QUOTA_MODELS,
  type QuotaModelName,
} from '../../../../src/tools/simulator/rules/quota-models.js';

/** The history: the time of each arrival and whether it was admitted. */
type History = { at: number; admitted: boolean }[];

/** Slow reference implementations of the models: is a request that arrives at `now` admitted? */
const plain: Record<
  QuotaModelName,
  (history: History, now: number, limit: number, windowMs: number) => boolean
> = {
  clock: (history, now, limit, windowMs) => {
    const window = Math.floor(now / windowMs);
    return (
      history.filter(({ at, admitted }) => admitted && Math.floor(at / windowMs) === window).length < limit
    );
  },
  first: (history, now, limit, windowMs) => {
    let start = Number.NEGATIVE_INFINITY;
    for (const { at } of history) if (at >= start + windowMs) start = at;
    if (now >= start + windowMs) return limit > 0;
    return history.filter(({ at, admitted }) => admitted && at >= start).length < limit;
  },
  sliding: (history, now, limit, windowMs) =>
    history.filter(({ at, admitted }) => admitted && at > now - windowMs).length < limit,
  'sliding-rejected': (history, now, limit, windowMs) =>
    history.filter(({ at }) => at > now - windowMs).length < limit,
  bucket: (history, now, limit, windowMs) => {
    let level = limit;
    let filledAt = 0;
    for (const { at, admitted } of [...history, { at: now, admitted: false }]) {
      level = Math.min(limit, level + ((at - filledAt) * limit) / windowMs);
      filledAt = at;
      if (admitted) level -= 1;
    }
    return level >= 1 - 1e-9;
  },
};

const arrivals = fc
  .array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 150 })), {
    maxLength: 80,
  })
  .map((gaps) => {
    let at = 1_000_000;
    return gaps.map((gap) => {
      at += gap;
      return at;
    });
  });

describe.each(QUOTA_MODELS)('the quota model %s', (name) => {
  it('admits exactly what the reference implementation admits', () => {
    const limits = fc.integer({ min: 0, max: 8 });
    const windows = fc.integer({ min: 1, max: 120 });
    fc.assert(
      fc.property(arrivals, limits, windows, (times, limit, windowMs) => {
        const model = createQuotaModel(name, limit, windowMs);
        const history: History = [];
        for (const at of times) {
          const admitted = model.arrive(at) === 0;
          expect(admitted).toBe(plain[name](history, at, limit, windowMs));
          history.push({ at, admitted });
        }
      }),
    );
  });

  it('returns the exact waiting time of a rejected request', () => {
    fc.assert(
      fc.property(
        arrivals,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 2, max: 120 }),
        (times, limit, windowMs) => {
          const replay = (after: number) => {
            const model = createQuotaModel(name, limit, windowMs);
            for (const at of times) {
              const wait = model.arrive(at);
              if (wait > 0) return { wait, admitted: model.arrive(at + wait + after) === 0 };
            }
            return undefined;
          };
          const early = replay(-1);
          fc.pre(early !== undefined);
          expect(early?.admitted).toBe(false);
          expect(replay(0)?.admitted).toBe(true);
        },
      ),
    );
  });

  it('counts a request with an earlier time at the latest known time', () => {
    const model = createQuotaModel(name, 1, 100);
    expect(model.arrive(5_000)).toBe(0);
    expect(model.arrive(1_000)).toBe(100);
    expect(model.arrive(5_100)).toBe(0);
  });
});

it('Every quota model counts a million arrivals against a quota of 100,000 within a few seconds', () => {
  for (const name of QUOTA_MODELS) {
    const model = createQuotaModel(name, 100_000, 3_600_000);
    let admitted = 0;
    for (let index = 0; index < 1_000_000; index += 1)
      if (model.arrive(7_200_000 + index) === 0) admitted += 1;
    expect(admitted).toBe(name === 'bucket' ? 127_777 : 100_000);
  }
});
