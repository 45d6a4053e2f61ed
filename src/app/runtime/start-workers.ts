import { monotonicClock, systemAlarm, systemClock } from '../../base/clock.js';
import { lazily } from '../../base/lazily.js';
import { BOUND_THE_LOSS, statedDurability, watchDurability } from '../../base/redis/durability.js';
import { requireReplay } from '../../base/redis/file-replay.js';
import type { LaneId } from '../../base/redis/keys.js';
import type { MayLose } from '../../base/redis/may-lose.js';
import { evictionOf } from '../../base/redis/memory.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { InputError } from '../../campaign/errors/errors.js';
import { OLDER_DATA } from '../../campaign/states/block-codes.js';
import { charger } from '../../engine/claim/charge.js';
import type { InboundService } from '../../engine/inbound/inbound-service.js';
import { followLanes } from '../../engine/lane/lane-set.js';
import { occurrenceDigest } from '../../engine/recipients/reservation.js';
import type { HighestClaims } from '../../engine/recovery/highest-claims.js';
import type { LaneStore } from '../../engine/scripts/lane-script.js';
import type { chargeOfBatch } from '../../engine/sending/campaign-content.js';
import { outboxResults } from '../../intake/outbox/views/outbox-results.js';
import { resultsLogs } from '../../reporting/results-log.js';
import { resultsReader } from '../../reporting/results-reader.js';
import { laneReader } from '../../reporting/webhooks/lane-reader.js';
import { payloadReader } from '../../reporting/webhooks/payload.js';
import { webhookStore } from '../../reporting/webhooks/store.js';
import type { LaneAdmin } from '../access/lane-admin.js';
import { requireSimulators } from '../access/test-keys.js';
import type { Volley, VolleyReader, Workers } from '../volley.js';
import { finishRemovals } from './finish-removals.js';
import { openForgettingOf, removeCampaignOf } from './forgetting.js';
import { importDeps, importModules } from './import-deps.js';
import { fullConfig, type Instance } from './instance.js';

/** How often workers delete what is too old from the audit trail. */
const TRIM_AUDIT_EVERY_MS = 3_600_000;

/** Starts the worker stages of this process. `drain` stops all that were started. */
export function workStarter(
  instance: Instance,
  inbound: InboundService,
  reading: VolleyReader,
  admin: () => LaneAdmin,
): { readonly work: Volley['work']; drain(): Promise<void> } {
  const { config, loaded, events, random, redis, keys, finder, heartbeats, format, suppression } = instance;
  const { blocking, wakers, tokenSources, notifications, trail, scheduled, provided, closers } = instance;
  const { connectMore, seal, apiKeysFor } = instance;
  const running = new Set<Workers>();
  // Loads the modules that only a working process needs.
  const tendModule = () => import('../../intake/outbox/tending/tend-lane.js');
  const openForMs = config.maxCampaignAgeMs + config.followUpPastMaxAgeMs;
  const tending = { clock: systemClock, retentionMs: config.retentionMs, openForMs };
  const sweep = {
    redis,
    keys,
    events,
    retentionMs: config.retentionMs,
    alive: () => heartbeats.alive(),
    discardImport: async (laneId: LaneId, id: string) => {
      const { discardImport } = await import('../../intake/import/import-session.js');
      if (!(await discardImport(redis, keys, laneId, id))) return;
      const lane = await finder.nameOf(laneId);
      const reason = 'its process died before the import was committed';
      events.emit({ type: 'import.discarded', lane, campaign: id, reason });
    },
    async tendOutboxes(laneId: LaneId) {
      const { tendOutboxes } = await tendModule();
      await tendOutboxes(await finder.withId(laneId), tending);
    },
    tendInbound: (laneId: LaneId) => inbound.tend(laneId),
    async lapseOutboxes(laneId: LaneId) {
      const lane = await finder.withId(laneId);
      const { lapseDue } = await tendModule();
      const { next, events: found } = await lapseDue(lane);
      lane.emit(found);
      return next;
    },
    removeCampaign: (laneId: LaneId, id: string) => removeCampaignOf(instance, laneId, id),
    async chargeOf(lane: LaneStore, batch: Parameters<typeof chargeOfBatch>[1]) {
      const content = await import('../../engine/sending/campaign-content.js');
      return content.chargeOfBatch(lane, batch, charger(config.prices));
    },
  };
  const forgetting = lazily(() => openForgettingOf(instance));
  const durability = lazily(() => {
    const { redisMayLoseMs } = config;
    const made = redisMayLoseMs === 'auto' ? watchDurability(redis) : statedDurability(redis, redisMayLoseMs);
    closers.push(() => made.stop());
    return made;
  });

  const holdAll = async (): Promise<void> => {
    const hold = async (id: LaneId): Promise<void> => {
      const lane = await finder.withId(id);
      await lane.retry(() => lane.commands.lane('hold', OLDER_DATA));
    };
    await Promise.all((await untilAnswered(() => finder.ids())).map(hold));
  };
  const openHighest = async (file: string, signal: AbortSignal): Promise<HighestClaims> => {
    const { openHighestClaims } = await import('../../engine/recovery/highest-claims.js');
    const clocks = { monotonic: monotonicClock, alarm: systemAlarm };
    const mayLose = (): MayLose => durability().mayLose;
    const highest = await openHighestClaims({ redis, keys, file, events, ...clocks, signal, mayLose });
    if (highest.isEarlierData) {
      await holdAll();
      events.emit({ type: 'stateFile.earlierData', file });
    }
    return highest;
  };

  return {
    work({ roles, concurrency } = {}) {
      const full = fullConfig(loaded);
      const control = new AbortController();
      const starting = (async () => {
        await format.waitForOthers(control.signal);
        await untilAnswered(() => finder.registered(), { signal: control.signal });
        const lanes = finder.live;
        const why = await durability().unbounded;
        if (why !== undefined)
          throw new InputError(
            `Redis may lose records of sent messages in a failover, so they could be sent twice: ${why}. ${BOUND_THE_LOSS}`,
          );
        const hint = await requireReplay(redis, config.redisPrefix, { signal: control.signal });
        if (hint !== undefined) events.emit({ type: 'config.hint', hint });
        const policy = await untilAnswered(() => evictionOf(redis), { signal: control.signal });
        if (policy !== null) events.emit({ type: 'redis.evicts', policy });
        const { stateFile } = full;
        const highest = stateFile === undefined ? undefined : await openHighest(stateFile, control.signal);
        const { work } = await import('../worker.js');
        const { deliverWebhooks } = await import('../../reporting/webhooks/work.js');
        const { openPoster } = await import('../../reporting/webhooks/post.js');
        const reconciler = notifications.reconcile(lanes, heartbeats.name());
        const workers = work({
          config: full,
          redis,
          blocking: blocking(),
          keys,
          lanes,
          tokenSourceOf: (name) =>
            config.lanes.some((lane) => lane.name === name) ? tokenSources.tokenSourceOf(name) : undefined,
          wakers,
          heartbeats,
          events,
          monotonic: monotonicClock,
          durability: durability(),
          highest,
          holdAll,
          sweep: { ...sweep, lanes: () => [...lanes.current().values()], wakers },
          dataRemoval: {
            ...sweep,
            finder,
            maxCampaignAgeMs: config.maxCampaignAgeMs,
            followUpPastMaxAgeMs: config.followUpPastMaxAgeMs,
            alarm: systemAlarm,
            forget: async () => (await forgetting()).resume(),
          },
          onReconnected: () => void finder.restore().catch(() => {}),
          schedules: {
            redis,
            keys,
            events,
            store: scheduled,
            retentionMs: config.retentionMs,
            provided,
            laneOf(id) {
              const lane = [...lanes.current().values()].find((each) => each.id === id);
              return lane && { name: lane.name, window: lane.rules.sendWindow };
            },
            async enqueue(input, actor, { createdBy: paidBy, limits, runBy }) {
              const lane = input.lane === undefined ? [] : [input.lane];
              await requireSimulators(reading, { key: paidBy.id, limits }, lane);
              const [{ importCampaign }] = await importModules();
              const deps = importDeps(instance, finder.named, trail.operator({ ...actor, limits }));
              const requestedBy = runBy ?? undefined;
              return importCampaign({ ...deps, digestOf: occurrenceDigest, paidBy, requestedBy }, input);
            },
          },
          suppressionOf: (lane) => ({
            areSuppressed: (numbers) => suppression.areSuppressed(lane, numbers),
            isOnlyBy: (operation, number) => suppression.isOnlyBy(operation, lane, number),
            lastRemoval: () => suppression.lastRemoval(lane),
          }),
          mayShareWith: (lane) => notifications.mayShareWith(lane),
          deliverWebhooks() {
            // Connections of their own: sending does not wait for the reading of results.
            const own = connectMore('protocol');
            return deliverWebhooks({
              redis: own,
              blocking: connectMore('blocking'),
              keys,
              store: webhookStore(own, keys),
              lanes: laneReader({
                redis: own,
                keys,
                logs: resultsLogs(own, keys, finder),
                clock: systemClock,
              }),
              payload: payloadReader({
                redis: own,
                keys,
                finder,
                read: resultsReader({ redis: own, keys, finder, outboxes: outboxResults(own, keys) }).read,
              }),
              poster: openPoster({ allowed: config.webhookAllow ?? [] }),
              seal: seal(),
              events,
              clock: systemClock,
              monotonic: monotonicClock,
              random,
              lifeOf: apiKeysFor.lifeOf,
            });
          },
          roles,
          concurrency,
        });
        // Appending trims the audit trail, too, but nothing may be appended for a long time.
        const trim = (): void => void trail.trim().catch(() => {});
        trim();
        const trimming = setInterval(trim, TRIM_AUDIT_EVERY_MS);
        const following = followLanes(() => lanes.refresh(), instance.time.alarm);
        const removals = finishRemovals(instance, admin());
        // A lane that cannot be served keeps no other from being served.
        for (const { name, state, by } of instance.lanes.stored.filter(({ state }) => state === 'disabled'))
          events.emit({
            type: 'config.hint',
            hint: `the stored lane ${name} is ${state}: the configured lane ${by} has its name or its credentials`,
          });
        // Every process has the new key by now: see docs/operations.md.
        for (const lane of instance.lanes.stored) await instance.stored.sealAgain(lane).catch(() => {});
        for (const hint of instance.lanes.problems) events.emit({ type: 'config.hint', hint });
        return { reconciler, workers, trimming, following, removals };
      })();
      const ready = starting.then(({ workers }) => workers.ready);
      const drained = {
        ready,
        // A second call, or one of close, waits for what the first one settles.
        drain: lazily(async () => {
          ready.catch(() => {});
          control.abort();
          // If it could not start, `ready` says why.
          const started = await starting.catch(() => null);
          clearInterval(started?.trimming);
          await Promise.all([started?.following.stop(), started?.removals.stop()]);
          await Promise.all([started?.reconciler.stop(), started?.workers.drain()]);
          running.delete(drained);
        }),
      };
      running.add(drained);
      return drained;
    },

    async drain() {
      await Promise.all([...running].map((workers) => workers.drain()));
    },
  };
}
