import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../base/api.js';
import { labels } from '../base/labels.js';
import { recentEvents, serverNow } from '../base/live.js';
import type { CampaignStatus } from '../base/live-types.js';
import { ratesOf, type Sample, thinned } from '../base/progress.js';
import { Chart, type Mark } from '../parts/Chart.js';

const EVERY_MS = 5_000;

/** How fast the campaign has been sent, and what slowed it down since this screen was opened. */
export function Speed({ status }: { readonly status: CampaignStatus }) {
  const { id, lane, zone, endedAt } = status;
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const newest = useRef(status);
  newest.current = status;
  useEffect(() => {
    setSamples([]);
    const take = (): void => {
      const sample = { at: new Date(serverNow()).toISOString(), counts: newest.current.counts };
      if (newest.current.id === id) setSamples((before) => thinned([...before, sample]));
    };
    const controller = new AbortController();
    const recorded = call('getProgress', { id }, { signal: controller.signal });
    // Without what was recorded, the chart begins now.
    recorded.then(({ samples: past }) => setSamples((since) => thinned([...past, ...since]))).catch(() => {});
    const timer = endedAt === null ? setInterval(take, EVERY_MS) : undefined;
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [id, endedAt === null]);
  if (samples.length < 2) return null;
  const marks = recentEvents.value.flatMap((event): Mark[] => {
    const at = Date.parse(event.createdAt);
    if (event.type === 'lane.backingOff' && event['lane'] === lane) return [{ at, kind: 'throttled' }];
    return event.type === 'campaign.paused' && event['campaign'] === id ? [{ at, kind: 'paused' }] : [];
  });
  return <Chart caption={labels.rate} rates={ratesOf(samples)} marks={marks} zone={zone} now={serverNow()} />;
}
