import { durationOption } from '../../base/duration.js';
import { evictionOf } from '../../base/redis/memory.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { unconfiguredLanes } from '../../reporting/fleet-snapshot.js';
import { findRecipients, recipientPage, reportRows, reportVersion } from '../../reporting/report.js';
import { laneStatus } from '../../reporting/status.js';
import type { Volley } from '../volley.js';
import type { Instance } from './instance.js';

/** The operations that change nothing. */
export type ReadOperations = Pick<
  Volley,
  | 'events'
  | 'status'
  | 'list'
  | 'page'
  | 'count'
  | 'idsWith'
  | 'progress'
  | 'unknown'
  | 'laneOf'
  | 'finished'
  | 'lanes'
  | 'knownLanes'
  | 'isSimulated'
  | 'refreshLanes'
  | 'unconfiguredLanes'
  | 'laneProblems'
  | 'report'
  | 'recipients'
  | 'results'
  | 'reportVersion'
  | 'find'
  | 'follow'
  | 'audit'
  | 'workers'
  | 'differences'
  | 'fleetSnapshot'
  | 'watchLive'
  | 'ledger'
  | 'ping'
>;

/** Returns the operations that change nothing: they are the same for every actor. */
export function readOperations({
  redis,
  keys,
  config,
  loaded,
  events,
  finder,
  heartbeats,
  feed,
  trail,
  outboxes,
  resultsFeed,
  statuses,
  fleet,
  live,
  isSimulated,
}: Instance): ReadOperations {
  return {
    events,
    status: (id) => statuses.status(id),
    list: (listed) => statuses.list(listed),
    page: (wanted) => statuses.page(wanted),
    count: (wanted) => statuses.count(wanted),
    progress: (id) => statuses.progress(id),
    unknown: (id, options) => statuses.unknown(id, options),
    idsWith: (prefix, limit) => statuses.idsWith(prefix, limit),
    laneOf: async (id) => (await finder.of(id)).name,
    finished: (id, finished) => statuses.finished(id, finished),
    lanes: async () => {
      const lanes = [...(await finder.configured()).values()];
      return Promise.all(lanes.map(async (lane) => laneStatus(lane, await lane.status())));
    },
    knownLanes: () =>
      config.lanes.map((lane) => {
        const { credentials: _, ...rules } = { credentials: undefined, ...lane };
        return rules;
      }),
    isSimulated,
    refreshLanes: () => finder.live.refresh(),
    unconfiguredLanes: () => unconfiguredLanes({ redis, keys, finder }),
    laneProblems: () => finder.problems(),
    report: (id, options) => reportRows(redis, keys, id, options),
    recipients: (id, options) => recipientPage(redis, keys, id, options),
    results: (options) => resultsFeed.results(options),
    reportVersion: (id) => reportVersion(redis, keys, id),
    async *find(number, options = {}) {
      const lanes = options.lanes && (await Promise.all(options.lanes.map(finder.idOf)));
      yield* findRecipients({ redis, keys, config, outboxes }, number, { ...options, lanes });
    },
    follow: (options) => feed.follow(options),
    audit: (options) => trail.audit(options),
    workers: () => heartbeats.alive(),
    async differences(than = 'messagingBaseUrl' in loaded ? loaded : undefined) {
      const { laneSettings } = await import('../../engine/recovery/lane-settings.js');
      return laneSettings(redis, keys).differences(await heartbeats.alive(), than);
    },
    fleetSnapshot: () => fleet().fleetSnapshot(),
    ledger: (lane) => live().ledger(lane),
    watchLive: (wanted, onTick) => live().watchLive(wanted, onTick),
    ping: async (within) => {
      const answerWithinMs = durationOption('within', within, 0);
      const eviction = await untilAnswered(() => evictionOf(redis), { answerWithinMs, tries: 1 });
      return { eviction };
    },
  };
}
