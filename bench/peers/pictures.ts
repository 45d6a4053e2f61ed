/** Pure: the charts of the results. */
import { barsChart } from '../chart/bars.js';
import { windowsChart } from '../chart/windows.js';
import type { Result } from './round.js';
import type { Scenario } from './scenario.js';
import { median, type Rounds, type Row } from './table.js';

/** Of the rounds, the one in which that contestant's time is the middle one. */
export function middleRound(rounds: Rounds, name: string): Rounds[number] {
  const times = (round: Rounds[number]): number => round.get(name)?.tookMs ?? Number.NaN;
  const sorted = rounds.toSorted((a, b) => times(a) - times(b));
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) throw new Error('there is no round to show');
  return middle;
}

/** Of one round: what came at the service, over time. */
export function windowsPicture(rows: readonly Row[], round: Rounds[number], scenario: Scenario): string {
  const { quota, windowMs, recipients } = scenario;
  return windowsChart({
    heading: `Requests in the last ${windowMs / 1000} s: ${recipients.toLocaleString('en-GB')} recipients, quota ${quota}`,
    quota,
    windowMs,
    panels: rows.flatMap(({ name, title }) => {
      const result = round.get(name);
      if (result === undefined) return [];
      const { logs, tookMs, throttled, worstWindow, notSent, notFinal } = result;
      const left = notSent + notFinal;
      const end = left === 0 ? 'all final' : `${left} not final`;
      const begin = logs.arrivals[0]?.at ?? 0;
      return {
        title,
        note: `${end} after ${(tookMs / 1000).toFixed(1)} s, ${throttled} × 429, at most ${worstWindow} in any ${windowMs / 1000} s`,
        arrivals: logs.arrivals.map(({ at, outcome }) => ({
          at: at - begin,
          refused: outcome === 'quotaExceeded',
        })),
      };
    }),
  });
}

/** The medians of the columns in which contestants differ most. */
export function barsPicture(
  rows: readonly Row[],
  { undisturbed, killed }: { undisturbed: Rounds; killed: Rounds },
  { quota, windowMs }: Scenario,
): string {
  const medians = (rounds: Rounds, of: (result: Result) => number): number[] =>
    rows.map(({ name }) =>
      median(
        rounds.flatMap((round) => {
          const result = round.get(name);
          return result === undefined ? [] : [of(result)];
        }),
      ),
    );
  return barsChart({
    heading: 'Peers side by side',
    rows: rows.map(({ name, title }) => ({ title, isOwn: name.startsWith('volley') })),
    groups: [
      {
        title: 'Time to complete, s',
        note: 'until all are final',
        values: medians(undisturbed, ({ tookMs }) => tookMs / 1000),
        digits: 1,
      },
      {
        title: 'Requests answered 429',
        note: 'without a kill',
        values: medians(undisturbed, ({ throttled }) => throttled),
        digits: 0,
      },
      {
        title: 'Requests, worst window',
        note: `in any ${windowMs / 1000} s; dashed: the quota`,
        values: medians(undisturbed, ({ worstWindow }) => worstWindow),
        digits: 0,
        limit: quota,
      },
      {
        title: 'Messages sent twice',
        note: 'after one kill -9',
        values: medians(killed, ({ duplicates }) => duplicates),
        digits: 0,
      },
      {
        title: 'Without a final status',
        note: 'after one kill -9; Volley reports them',
        values: medians(killed, ({ notSent, notFinal }) => notSent + notFinal),
        digits: 0,
      },
      {
        title: 'Redis commands per recipient',
        note: 'run by Redis, including those in scripts',
        values: medians(undisturbed, ({ commandsRun }) => commandsRun),
        digits: 1,
      },
    ],
  });
}
