import { systemClock } from '../../base/clock.js';
import { durationOption } from '../../base/duration.js';
import { evictionOf } from '../../base/redis/memory.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { unconfiguredLanes } from '../../reporting/fleet-snapshot.js';
import { findRecipients, recipientPage, reportRows, reportVersion } from '../../reporting/report.js';
import { laneStatus } from '../../reporting/status.js';
import type { VolleyReader } from '../volley.js';
import type { Instance } from './instance.js';

/** Returns the operations that change nothing: they are the same for every actor. */
export function readOperations(instance: Instance): VolleyReader {
  const { redis, keys, config, loaded, finder, heartbeats } = instance;
  const { lifeOf } = instance.apiKeysFor;
  return {
    events: instance.events,
    ...instance.statuses,
    ...instance.resultsFeed,
    ...instance.fleet,
    ...instance.live,
    follow: instance.feed.follow,
    audit: instance.trail.audit,
    usage: async (options) =>
      (await import('../../engine/lane/usage.js')).readUsage(
        { redis, keys, finder, clock: systemClock, lifeOf, currency: config.prices?.currency },
        options,
      ),
    isSimulated: instance.isSimulated,
    laneOf: async (id) => (await finder.of(id)).name,
    lanes: async () => {
      const lanes = [...(await finder.configured()).values()];
      return Promise.all(lanes.map(async (lane) => laneStatus(lane, await lane.status())));
    },
    knownLanes: () =>
      config.lanes.map((lane) => {
        const { credentials: _, ...rules } = { credentials: undefined, ...lane };
        return rules;
      }),
    refreshLanes: () => finder.live.refresh(),
    unconfiguredLanes: () => unconfiguredLanes({ redis, keys, finder }),
    laneProblems: () => finder.problems(),
    report: (id, options) => reportRows(redis, keys, id, options),
    recipients: (id, options) => recipientPage(redis, keys, id, options),
    reportVersion: (id) => reportVersion(redis, keys, id),
    async *find(number, options = {}) {
      const lanes = options.lanes && (await Promise.all(options.lanes.map(finder.idOf)));
      const { outboxSearch } = await import('../../intake/outbox/views/outbox-search.js');
      const outboxes = outboxSearch(redis, keys);
      yield* findRecipients({ redis, keys, config, outboxes }, number, { ...options, lanes });
    },
    workers: () => heartbeats.alive(),
    async differences(than = 'messagingBaseUrl' in loaded ? loaded : undefined) {
      const { laneSettings } = await import('../../engine/recovery/lane-settings.js');
      return laneSettings(redis, keys).differences(await heartbeats.alive(), than);
    },
    ping: async (within) => {
      const answerWithinMs = durationOption('within', within, 0);
      const eviction = await untilAnswered(() => evictionOf(redis), { answerWithinMs, tries: 1 });
      return { eviction };
    },
  };
}
