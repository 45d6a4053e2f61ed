import type { CampaignStatus } from 'built/campaign/views/views.js';
import { call } from '../base/api.js';
import { serverNow } from '../base/live.js';
import { useLoaded, useSlowly } from '../base/loaded.js';
import { ratesOf } from '../base/recipients.js';
import { mayRun } from '../base/session.js';
import { labelOf, texts } from '../base/texts.js';
import { countText, timeText } from '../base/times.js';
import { Figure, HEIGHT, type Mark, placeOf, SHORT_MS } from '../parts/Chart.js';
import { Section } from '../parts/Section.js';
import { Table } from '../parts/Table.js';

/** How fast the campaign has been sent, and what slowed it down: 429s within the window of its lane, and pauses by people. */
export function Speed({ status }: { readonly status: CampaignStatus }) {
  const { id, lane, zone, counts, state } = status;
  const { data } = useLoaded(id + useSlowly(JSON.stringify(counts)), async (signal) => {
    const [{ samples }, { throttledAt }] = await Promise.all([
      call('getProgress', { id }, { signal }),
      call('getLedger', { name: lane }, { signal }),
    ]);
    return { rates: ratesOf(samples), throttledAt };
  });
  const { data: done } = useLoaded(`${id} ${state}`, async (signal) =>
    mayRun('listAuditEntries', lane)
      ? (await call('listAuditEntries', { campaign: id, limit: 200 }, { signal })).entries
      : [],
  );
  const { rates = [], throttledAt = [] } = data ?? {};
  const [first, last] = [rates[0], rates.at(-1)];
  const highest = Math.max(0, ...rates.map(({ value }) => value));
  if (first === undefined || last === undefined || highest === 0) return null;
  const [{ from }, { to }] = [first, last];
  const pauses = done?.filter(({ action }) => action === 'campaign.pause') ?? [];
  const marks = [
    ...throttledAt.map((at): Mark => ({ at: Date.parse(at), kind: 'throttled' })),
    ...pauses.map(({ createdAt }): Mark => ({ at: Date.parse(createdAt), kind: 'paused' })),
  ].filter(({ at }) => at >= from && at <= to);
  const x = (at: number): number => placeOf(at, from, to);
  const y = (value: number): number => HEIGHT * (1 - value / highest);
  const steps = rates.map((rate) => `M${x(rate.from)} ${HEIGHT}V${y(rate.value)}H${x(rate.to)}V${HEIGHT}z`);
  const time = (at: number, withSeconds = to - from < SHORT_MS): string =>
    timeText(at, serverNow(), zone, withSeconds);
  return (
    <Section title={labelOf('sendsPerMinute')}>
      <Figure
        caption={texts.chart.most(countText(highest))}
        {...{ from, to, marks, time }}
        middle={marks.length > 0 && texts.chart.marks}
        table={
          <Table
            caption={labelOf('sendsPerMinute')}
            rows={rates}
            columns={[
              [labelOf('from'), (rate) => time(rate.from, true)],
              [labelOf('until'), (rate) => time(rate.to, true)],
              [labelOf('sendsPerMinute'), ({ value }) => value],
            ]}
          />
        }
      >
        <path d={steps.join('')} fill="var(--sending)" opacity="0.85" />
      </Figure>
    </Section>
  );
}
