import { pause, systemClock } from '../../base/clock.js';
import type { EventOf } from '../../base/events/events.js';
import { lazily, lazyMethods } from '../../base/lazily.js';
import type { LaneId } from '../../base/redis/keys.js';
import { closedError, withUnavailableErrors } from '../../base/redis/unavailable.js';
import { auditedRecords } from '../../call-records/audited-records.js';
import { StateError } from '../../campaign/errors/state-error.js';
import { type ActingFor, describeActor } from '../../campaign/states/actor.js';
import type { InboundService } from '../../engine/inbound/inbound-service.js';
import { laneNamed } from '../../engine/lane/lane.js';
import { operatorCommands } from '../../engine/lane/operator-commands.js';
import { KNOWN_MS } from '../../engine/lane/stored-lanes.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { resolveUnknown } from '../../engine/sending/unknown.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { readState } from '../../engine/store/campaigns.js';
import { openSuppressionList } from '../../intake/import/suppression-list.js';
import type { Outbox } from '../../intake/outbox/outbox-methods.js';
import type { Outboxes } from '../../intake/outbox/outboxes.js';
import { openSchedules, pauseSchedulesOf } from '../../intake/schedules/schedules.js';
import { openTemplates } from '../../intake/templates/templates.js';
import { countCampaigns } from '../../reporting/fleet-snapshot.js';
import { disableWebhooksOf } from '../../reporting/webhooks/key-ends.js';
import { webhookStore } from '../../reporting/webhooks/store.js';
import type { CancelledOfKey } from '../access/api-keys.js';
import { cancelCampaignsOf, cancelCampaignsOn } from '../access/campaigns-of-key.js';
import { laneAdmin } from '../access/lane-admin.js';
import { OUTBOX_METHODS, OUTBOXES_METHODS } from '../input/outboxes.js';
import { checkedVolley } from '../input/volley.js';
import type { Volley, VolleyReader } from '../volley.js';
import { openForgettingOf, removeCampaignOf } from './forgetting.js';
import { importDeps, importModules } from './import-deps.js';
import { inboundFor } from './inbound.js';
import { fullConfig, type Instance } from './instance.js';

const OUTBOXES_NAMES = Object.keys(OUTBOXES_METHODS) as (keyof Outboxes)[];
const OUTBOX_NAMES = Object.keys(OUTBOX_METHODS) as (keyof Outbox)[];

/** The operations that are the same for every actor. */
type Shared = VolleyReader & Pick<Volley, 'work' | 'close'>;

/** Returns the Volley of an actor: the audit trail, events, and logs name the actor for every operation. */
export function actingVolleys(instance: Instance, inbound: InboundService, shared: Shared): Volley['as'] {
  const { config, events, random, time, redis, keys, finder, wakers, format, suppression, heartbeats } =
    instance;
  const {
    tokenSources,
    notifications,
    records,
    trail,
    positions,
    apiKeysFor,
    webhooksFor,
    scheduled,
    provided,
  } = instance;
  const guarded = <Service extends object>(service: Service): Service =>
    withUnavailableErrors(service, (name) => {
      if (instance.closing.isClosed) return Promise.reject(closedError());
      // These examine what is stored, whatever its format.
      return name === 'ping' || name === 'examine' ? undefined : format.stored();
    });
  const outboxesOpened = lazily(async () => {
    const [{ openOutboxes }, { outboxOpener }] = await Promise.all([
      import('../../intake/outbox/outboxes.js'),
      import('../../intake/outbox/open-outbox.js'),
    ]);
    const options = { redis, keys, config, finder, wakers, events, clock: systemClock, random };
    return { openOutboxes, options, opener: outboxOpener(options) };
  });

  /** A lane that was stored a moment ago is known to the checks of an input. Without Redis, these say what else is wrong. */
  const knowing = async <Named extends { readonly lane?: string | undefined }>(
    input: Named,
  ): Promise<Named> => {
    if (input.lane !== undefined && !config.lanes.some(({ name }) => name === input.lane))
      await finder.live.refresh().catch(() => {});
    return input;
  };
  const forgetting = lazily(() => openForgettingOf(instance));

  const volleyFor = (actor: ActingFor, authorise?: () => Promise<void>): Volley => {
    const by = trail.operator(actor, authorise);
    const commands = operatorCommands(finder, wakers, events, by);
    const outboxesFor = lazily(async () => {
      const { openOutboxes, options, opener } = await outboxesOpened();
      const { open, ...all } = openOutboxes(options, opener, by);
      return {
        open: (...which: Parameters<typeof open>) => guarded(open(...which)),
        all: guarded<Outboxes>({
          ...all,
          create: async (input) => all.create(await knowing(input)),
          put: async (input, more) => all.put(await knowing(input), more),
          previewPut: async (input, more) => all.previewPut(await knowing(input), more),
        }),
      };
    });
    const outboxes: Outboxes = lazyMethods(async () => (await outboxesFor()).all, OUTBOXES_NAMES);
    const openOutbox: Volley['outbox'] = (...which) =>
      lazyMethods(
        lazily(async () => (await outboxesFor()).open(...which)),
        OUTBOX_NAMES,
      );
    const cancelling = {
      redis,
      keys,
      cancel: (id: string) => commands.cancel(id),
      pauseSchedules: (key: string) => pauseSchedulesOf(scheduled, key),
      async discardImport(lane: LaneId, id: string) {
        const { discardImport } = await import('../../intake/import/import-session.js');
        return discardImport(redis, keys, lane, id, 'givenUp');
      },
    };
    const cancelAllOf = async (key: string): Promise<CancelledOfKey> => {
      // The key may have revoked itself. Whether it may do that was checked before.
      const authorised = volleyFor(actor);
      const cancel = (id: string) => authorised.cancel(id);
      const cancelled = await cancelCampaignsOf({ ...cancelling, cancel }, key);
      const { emptyOutboxesOf } = await import('../../intake/outbox/outboxes-of-key.js');
      const cancelAll = (name: string, lane: string) =>
        authorised.outbox(name, { lanes: [lane] }).cancelAll();
      return { cancelled, ...(await emptyOutboxesOf({ redis, keys, finder, cancelAll }, key)) };
    };
    /** Records what an operator requests from the account or messaging service. */
    const requested = async <Result>(
      name: string,
      action: EventOf<'operation.requested'>['action'],
      run: () => Promise<Result>,
    ): Promise<Result> => {
      const lane = await finder.idOf(name);
      return by.audited({ action, lane }, () => {
        events.emit({ type: 'operation.requested', lane: name, action, actor: describeActor(actor) });
        return run();
      });
    };
    const admin = laneAdmin(
      {
        stored: instance.stored,
        lanes: instance.lanes,
        finder,
        events,
        clock: systemClock,
        async configuredElsewhere() {
          const { laneSettings } = await import('../../engine/recovery/lane-settings.js');
          return laneSettings(redis, keys).lanesOf(await heartbeats.alive());
        },
        async countWaiting(lane) {
          const [{ counts }, waiting] = await Promise.all([
            countCampaigns(redis, keys, lane.id),
            outboxes.list({ lanes: [lane.name] }),
          ]);
          return waiting.reduce((sum, outbox) => sum + outbox.counts.waiting, counts.planned);
        },
        async cancelAll(lane) {
          const of = { lanes: [lane.name] };
          for (const { id } of await schedules.list(of)) await schedules.remove(id, of);
          let cancelled = await cancelCampaignsOn(cancelling, lane.id);
          for (const { name } of await outboxes.list(of))
            cancelled += (await openOutbox(name, of).cancelAll()).cancelled;
          return cancelled;
        },
        async untilKnown(revision) {
          await pause(time.alarm, Math.max(0, revision + KNOWN_MS - (await time.ofRedis(redis))));
        },
      },
      by,
    );
    const previewing = importDeps(instance, async (name) => laneNamed(await finder.configured(), name), by);
    // The input is checked first: what is invalid is reported even while Redis is away, and no lane is registered for it.
    const enqueuing = importDeps(
      instance,
      async (name) => {
        await format.check();
        return finder.named(name);
      },
      by,
    );
    const { laneNamed: registered } = enqueuing;
    const { withText, ...templates } = openTemplates({
      redis,
      keys,
      config,
      finder,
      by,
      laneNamed: registered,
    });
    const schedules = openSchedules({
      redis,
      keys,
      retentionMs: config.retentionMs,
      store: scheduled,
      finder,
      events,
      by,
      provided,
      keyBytes: config.keyBytes,
      workerHosts: async () => (await heartbeats.alive()).map(({ host }) => host),
      async check(input) {
        const [, { checkCampaign }] = await importModules();
        return checkCampaign(config, await knowing(input), systemClock(), by);
      },
      async preview(campaign) {
        const [{ previewChecked }] = await importModules();
        return previewChecked(previewing, campaign);
      },
      laneNamed: registered,
      withText,
    });
    const unchecked = guarded<Volley>({
      ...shared,
      ...commands,
      as: volleyFor,
      records: guarded(auditedRecords(records, by, (lane) => finder.idOf(lane))),
      async enqueue(input) {
        const [{ importCampaign }] = await importModules();
        const run = (whole: typeof input) => importCampaign(enqueuing, whole);
        const outcome = await withText(await knowing(input), run);
        if (outcome.outcome === 'refused') return outcome;
        const { createdCampaign } = await import('../../intake/import/created-campaign.js');
        return createdCampaign(redis, keys, await finder.named(outcome.preview.lane), outcome);
      },
      async *conformance(options = {}) {
        const { testConformance } = await import('../../tools/conformance/conformance.js');
        yield* testConformance(
          {
            redis,
            keys,
            events,
            config: fullConfig(config),
            finder,
            areSuppressed: (lane, numbers) => suppression.areSuppressed(lane, numbers),
            by,
          },
          options,
        );
      },
      async *examine(options = {}) {
        const { examine } = await import('../doctor/rows.js');
        yield* examine({
          ...options,
          redis,
          keyNames: keys,
          config,
          volley: acting,
          clock: systemClock,
          damagedLanes: () => instance.stored.damaged(),
        });
      },
      async preview(input) {
        const [{ previewCampaign }] = await importModules();
        return withText(await knowing(input), (whole) => previewCampaign(previewing, whole));
      },
      async *report(id, options) {
        const { id: lane } = await finder.of(id);
        const details = options?.status === undefined ? {} : { details: { status: String(options.status) } };
        await by.audited({ action: 'campaign.export', lane, campaign: id, ...details }, async () => {});
        yield* shared.report(id, options);
      },
      schedules: guarded(schedules),
      templates: guarded({ ...templates, put: async (input) => templates.put(await knowing(input)) }),
      storedLanes: guarded(admin),
      async delete(id) {
        const { id: lane } = await finder.of(id);
        const { makeReadable } = await import('../../engine/recovery/damaged-campaign.js');
        const removeDamaged = async () => {
          if (!(await makeReadable(redis, keys, lane, id))) return null;
          // Everything may have been sent.
          await commands.cancel(id).catch((error: unknown) => {
            if (!(error instanceof StateError)) throw error;
          });
          const left = await readState(redis, keys, lane, id);
          return { recipientCount: left?.total ?? 0 };
        };
        const isDamaged =
          (await orNull(Promise.all([readMeta(redis, keys, lane, id), readState(redis, keys, lane, id)]))) ===
          null;
        const removed = isDamaged
          ? await by.audited({ action: 'campaign.delete', lane, campaign: id }, removeDamaged)
          : null;
        if (removed !== null) return removed;
        const state = await readState(redis, keys, lane, id);
        if (state !== null && state.endedAt === 0)
          throw new StateError(
            `campaign ${id} is ${state.state}, and has messages without a final status: cancel it, and delete it when it has ended`,
          );
        const details = { recipientCount: state?.total ?? 0 };
        const earlyByMs = (state?.endedAt ?? 0) + config.retentionMs - (await time.ofRedis(redis));
        await by.audited({ action: 'campaign.delete', lane, campaign: id, details }, () =>
          removeCampaignOf(instance, lane, id, Math.max(0, earlyByMs)),
        );
        return details;
      },
      forget: async (number, options = {}) => (await forgetting()).forget(number, options, by),
      async set(id, changes, options) {
        const { setCampaign } = await import('../../intake/changes/set-campaign.js');
        await finder.live.refresh().catch(() => {});
        const deps = { redis, keys, config, finder, wakers, by, clock: systemClock, alarm: time.alarm };
        return setCampaign(deps, id, changes, options);
      },
      resolve: (id, resolution) => resolveUnknown(finder, id, resolution, { wakers, events, by }),
      outboxes,
      outbox: openOutbox,
      suppression: guarded(
        openSuppressionList({ config, finder, events, suppression, clock: systemClock, by }),
      ),
      inbound: guarded(inboundFor(instance, inbound, by)),
      keys: guarded(
        apiKeysFor(by, cancelAllOf, {
          list: async (key) => (await webhooksFor(by).list()).filter((webhook) => webhook.key === key),
          disable: (key, because) =>
            disableWebhooksOf({ store: webhookStore(redis, keys), events }, key, because),
        }),
      ),
      webhooks: guarded(webhooksFor(by)),
      positions: guarded(positions),
      notifications: guarded({
        ...notifications,
        subscription(lane: string) {
          const subscription = notifications.subscription(lane);
          return guarded({
            get: () => subscription.get(),
            create: (options) => requested(lane, 'subscription.create', () => subscription.create(options)),
            remove: (options) => requested(lane, 'subscription.delete', () => subscription.remove(options)),
          });
        },
      }),
      token(lane) {
        const cache = tokenSources.cacheOf(lane);
        if (cache === null) return null;
        return guarded({
          ...cache,
          login: (options) => requested(lane, 'token.login', () => cache.login(options)),
          refreshNow: () => requested(lane, 'token.refresh', () => cache.refreshNow()),
        });
      },
    });
    const acting = checkedVolley(unchecked);
    return acting;
  };
  return volleyFor;
}
