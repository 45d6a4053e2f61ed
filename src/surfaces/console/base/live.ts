import { batch, computed, effect, signal } from '@preact/signals';
import type { Ledger, LiveCampaign, LiveData, LiveLane, Overview } from 'built/campaign/views/live-views.js';
import { useEffect } from 'preact/hooks';
import { ROOT } from './api.js';
import { followStream, type StreamItem, type StreamState } from './live-stream.js';
import { endSession, mayRun, session } from './session.js';

/** What there is to see: which campaigns run, in their order, and which lanes there are. */
export const overview = signal<Overview | null>(null);
/** Whether there is one lane, so that nothing needs to say which one it is about. */
export const hasOneLane = (): boolean => (overview.value?.lanes ?? session.value?.services ?? []).length < 2;

/** Campaigns by their ids, with null for those that do not exist; lanes and ledgers by the names of their lanes. */
export const liveCampaigns = signal<ReadonlyMap<string, LiveCampaign | null>>(new Map());
export const liveLanes = signal<ReadonlyMap<string, LiveLane>>(new Map());
export const ledgers = signal<ReadonlyMap<string, Ledger>>(new Map());

/** The lanes of the key, in their order; null: not known yet. */
export const lanes = (): readonly LiveLane[] | null =>
  overview.value?.lanes.flatMap((name) => liveLanes.value.get(name) ?? []) ?? null;

export const streamState = signal<StreamState | 'paused' | 'hidden'>('connecting');
export const isPaused = signal(false);
/** The time of the server at the last tick, and when it arrived on the monotonic clock of the browser. What is shown is of that time. */
export const lastTick = signal({ at: 0, arrivedAt: 0 });
export const redis = signal<'ok' | 'unavailable'>('ok');

/** Why what is shown may be old; null while it is current. Commands are disabled meanwhile. */
export const staleBecause = computed((): 'server' | 'redis' | null => {
  if (streamState.value === 'reconnecting') return 'server';
  return redis.value === 'unavailable' ? 'redis' : null;
});

/** The time of the server, in ms, as far as the page knows it. */
export function serverNow(): number {
  const { at, arrivedAt } = lastTick.peek();
  return at === 0 ? Date.now() : at + performance.now() - arrivedAt;
}

/** An event of the feed. */
export interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: string;
  readonly [member: string]: unknown;
}

const KEPT_EVENTS = 100;
/** The newest events, newest first. */
export const recentEvents = signal<readonly FeedEvent[]>([]);
/** Whether events are missing between those shown. */
export const hasGap = signal(false);

const put = <Value>(all: { value: ReadonlyMap<string, Value> }, name: string, value: Value): void => {
  all.value = new Map(all.value).set(name, value);
};

/** What is shown counts as current for so long: a busy machine answers late, and that is when a person wants to pause or to stop. */
const PATIENCE_MS = 5_000;

/** What each item of the stream changes; the names and types of items are those of the server. */
const CHANGES: Readonly<Record<string, (data: never) => void>> = {
  tick({ at, redis: state }: LiveData['tick']) {
    if (state === 'ok') lastTick.value = { at: Date.parse(at), arrivedAt: performance.now() };
    redis.value = performance.now() - lastTick.peek().arrivedAt < PATIENCE_MS ? 'ok' : 'unavailable';
  },
  overview: (data: Overview) => (overview.value = data),
  campaign: (data: LiveCampaign) => put(liveCampaigns, data.status.id, data),
  lane: (data: LiveLane) => put(liveLanes, data.status.name, data),
  ledger: (data: Ledger) => put(ledgers, data.lane, data),
  gone: ({ campaign }: LiveData['gone']) => put(liveCampaigns, campaign, null),
  gap: () => (hasGap.value = true),
};

function take({ type, data, id }: StreamItem): void {
  const change = CHANGES[type];
  change?.(data as never);
  if (change || id === undefined) return;
  const event = { ...(data as FeedEvent), id, type };
  recentEvents.value = [event, ...recentEvents.value].slice(0, KEPT_EVENTS);
}

/** What the screen shows in detail. */
const wanted = signal<[kind: 'lanes' | 'campaigns', name: string] | null>(null);
const address = computed(() => `${ROOT}/v1/live?${new URLSearchParams(wanted.value ? [wanted.value] : [])}`);

/** Follows a lane, or a campaign, in detail while a screen is shown. */
export function useLive(kind: 'lanes' | 'campaigns', name: string): void {
  useEffect(() => {
    wanted.value = [kind, name];
    return () => {
      wanted.value = null;
    };
  }, [kind, name]);
}

/** Whether an event is about the campaign or the lane that this screen shows in detail. */
export function isShown({ campaign, lane }: FeedEvent): boolean {
  const [kind, name] = wanted.peek() ?? [];
  return kind !== undefined && name === (kind === 'lanes' ? lane : campaign);
}

const isHidden = signal(false);
/** A tab may be hidden for a moment, such as while another one is chosen. */
const HIDDEN_AFTER_MS = 500;
const TIMES = { silenceMs: PATIENCE_MS, retryMs: [250, 1_000, 2_000, 5_000] } as const;

/** Opens and closes the stream as the session, the screen, and the visibility of the tab require. Call it once. */
export function startLive(): void {
  let hide: ReturnType<typeof setTimeout> | undefined;
  const setHidden = (hidden: boolean): void => {
    clearTimeout(hide);
    isHidden.value = hidden;
  };
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') setHidden(false);
    else hide = setTimeout(setHidden, HIDDEN_AFTER_MS, true);
  });
  // A page that is left may be kept for the way back, frozen but with its connections: of those, a browser has six.
  addEventListener('pagehide', () => setHidden(true));
  addEventListener('pageshow', () => setHidden(document.visibilityState === 'hidden'));
  const key = computed(() => (mayRun('followLive') ? session.value?.id : undefined));
  let after: string | undefined;
  effect(() => {
    const url = address.value;
    if (key.value === undefined) {
      after = undefined;
      forget();
      return;
    }
    if (isPaused.value || isHidden.value) {
      streamState.value = isPaused.value ? 'paused' : 'hidden';
      return;
    }
    const controller = new AbortController();
    // Another screen needs another stream: the page stays live meanwhile.
    const wasLive = streamState.peek() === 'live';
    const onItem = (item: StreamItem): void => {
      after = item.id ?? after;
      batch(() => take(item));
    };
    const onState = (state: StreamState): void => {
      if (state !== 'connecting' || !wasLive) streamState.value = state;
      if (state === 'signedOut') endSession();
    };
    const { signal } = controller;
    void followStream({ url, after, fetch: fetch.bind(window), signal, onItem, onState, ...TIMES });
    return () => controller.abort();
  });
}

/** Another session may not see what this one has seen. */
function forget(): void {
  batch(() => {
    overview.value = null;
    liveCampaigns.value = new Map();
    liveLanes.value = new Map();
    ledgers.value = new Map();
    recentEvents.value = [];
  });
}
