import { z } from 'zod';
import { requestedLane } from '../../base/config/requested-lane.js';
import type { LaneId } from '../../base/redis/keys.js';
import { mustHaveRoom } from '../../base/redis/memory.js';
import { loadScript, luaJson } from '../../base/redis/script.js';
import { InputError, NotFoundError } from '../../campaign/errors/errors.js';
import { limitsFor, refusedSender } from '../../campaign/limits/check-limits.js';
import type { Operator } from '../../campaign/states/audit.js';
import { newCampaignId } from '../../campaign/states/campaign.js';
import type {
  CreatedOutbox,
  OutboxChange,
  OutboxStatus,
  PutOutbox,
} from '../../campaign/views/outbox-views.js';
import type { LaneFilter, PageOptions } from '../../campaign/views/page.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { keyFull, payerOf } from '../../engine/recipients/key-bytes.js';
import { outboxId, outboxKeys } from '../../engine/recipients/outbox-messages.js';
import { registerWindows } from '../../engine/recovery/windows.js';
import { laneKeys } from '../../engine/scripts/lane-script.js';
import { messageChecker } from './definition/check-message.js';
import { defineOutbox, type OutboxInput } from './definition/define-outbox.js';
import { OutboxExistsError } from './definition/errors.js';
import { makeOutboxReadable } from './definition/make-readable.js';
import { indexOutbox, pageOfOutboxes } from './definition/outbox-index.js';
import {
  differencesOf,
  editionOf,
  type OutboxSettings,
  readOutboxSettings,
  stateOf,
  UNCHANGED,
} from './definition/settings.js';
import { usedColumns } from './definition/used-columns.js';
import {
  noSuchOutbox,
  type Opened,
  type OutboxesOptions,
  type OutboxOpener,
  whyUnserved,
} from './open-outbox.js';
import { operatedOutbox } from './outbox.js';
import type { Outbox } from './outbox-methods.js';
import { readOutboxStatus } from './outbox-status.js';
import { OUTBOX_BYTES, type SetOptions, settingsReplacer } from './set-outbox.js';

/** Outboxes of a page. */
export interface OutboxPage {
  readonly outboxes: OutboxStatus[];
  /** The `cursor` of the next page; null on the last one. */
  readonly nextCursor: string | null;
}

/** All outboxes. */
export interface Outboxes {
  /** Creates an outbox. Rejects with an `OutboxExistsError` if the lane has one of this name with other settings. */
  create(input: OutboxInput): Promise<CreatedOutbox>;
  /**
   * Creates an outbox, or gives the one of this name these settings, as {@link Outbox.set} does; those that are left out get their
   * defaults. Without a lane, it is the one that has an outbox of this name, if there is one.
   */
  put(input: OutboxInput, options?: SetOptions): Promise<PutOutbox>;
  /** What {@link Outboxes.put} would do to the messages of an outbox that exists. Changes nothing. */
  previewPut(input: OutboxInput, options?: SetOptions): Promise<OutboxChange>;
  /** By name; of all lanes, or of these. */
  list(options?: LaneFilter): Promise<OutboxStatus[]>;
  /** The same in pages. A page may be short or empty before the last one. */
  page(options?: PageOptions): Promise<OutboxPage>;
  /**
   * The lane of an outbox. Rejects with a `NotFoundError` if there is no such outbox, and with an `AmbiguousNameError` if several lanes
   * have one.
   */
  laneOf(name: string, choice?: LaneFilter): Promise<string>;
}

const createScript = loadScript(import.meta.url, './create-outbox.lua', (reply) => {
  const [created, used] = z.tuple([z.literal([1, 0, -1]), z.number()]).parse(reply);
  return { created, used };
});
/** The state with which an outbox begins. */
const BEGINNING = { state: 'running', total: 0, ordinals: 0, batch: 1, counts: {} };

const [DEFAULT_PAGE, MAX_PAGE] = [50, 200];

/** Opens the outboxes for an operator. It does not access Redis before the first call. */
export function openOutboxes(
  options: OutboxesOptions,
  opener: OutboxOpener,
  by: Operator,
): Outboxes & { open(name: string, choice?: LaneFilter): Outbox } {
  const { redis, keys, config, finder, clock, random } = options;
  const openedOn = async (name: string, lanes: LaneFilter['lanes']): Promise<Opened> =>
    opener.open(await opener.laneOf(name, lanes), name);
  const page: Outboxes['page'] = async ({ lanes, limit = DEFAULT_PAGE, cursor: after } = {}) => {
    if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE))
      throw new InputError(`ask for 1 to ${MAX_PAGE} outboxes`, { field: 'limit' });
    const wanted = lanes && (await Promise.all(lanes.map(finder.idOf)));
    const { outboxes, next } = await pageOfOutboxes(redis, keys, { lanes: wanted, after, count: limit });
    const statuses = await Promise.all(
      outboxes.map(async ({ name, lane: id }) => {
        const lane = await finder.withId(id);
        return orNull(readOutboxStatus(lane, name, await whyUnserved(finder, lane)));
      }),
    );
    return { outboxes: statuses.filter((status) => status !== null), nextCursor: next };
  };

  /** The same settings for the outbox that a request means, with its lane. */
  const meant = async (input: OutboxInput): Promise<OutboxInput> => {
    const within = input.lane === undefined ? undefined : [input.lane];
    try {
      return { ...input, lane: await finder.nameOf((await openedOn(input.name, within)).lane.id) };
    } catch (error) {
      if (error instanceof NotFoundError) return input;
      throw error;
    }
  };
  const replace = (input: OutboxInput, more: SetOptions & { readonly isPreview?: boolean }) => {
    const lanes = input.lane === undefined ? undefined : [input.lane];
    const replaceSettings = settingsReplacer(options, by, input.name, () => openedOn(input.name, lanes));
    return replaceSettings(() => defineOutbox(config, input, clock()), more);
  };

  const outboxes: Outboxes = {
    async put(given, more = {}) {
      const input = await meant(given);
      defineOutbox(config, input, clock());
      const lane = requestedLane(config, input.lane).name;
      const existing = await readOutboxSettings(redis, keys, (await finder.named(lane)).id, input.name);
      if (existing === null) {
        const { outcome, ...outbox } = await outboxes.create(input);
        return { ...outbox, outcome: outcome === 'created' ? outcome : 'unchanged' };
      }
      const { changed } = await replace({ ...input, lane }, more);
      const outbox = await readOutboxStatus(await finder.named(lane), input.name);
      if (outbox === null) throw noSuchOutbox(input.name);
      return { ...outbox, outcome: changed.length === 0 ? 'unchanged' : 'updated' };
    },

    async previewPut(given, more = {}) {
      return replace(await meant(given), { ...more, isPreview: true });
    },

    async create(input) {
      const wanted = defineOutbox(config, input, clock());
      const lane = await finder.named(requestedLane(config, input.lane).name);
      const settings: OutboxSettings = {
        ...wanted,
        columns: usedColumns(wanted),
        ...UNCHANGED,
        id: newCampaignId(clock(), random),
        created: clock(),
        createdBy: by.actor,
      };
      const refused = refusedSender(limitsFor(lane.settings, by, config.prices?.currency), wanted.sender);
      if (refused !== null) throw refused;
      // Reports an unknown country before anything is stored.
      messageChecker(settings, config, []);
      const key = outboxKeys(keys, lane.id, input.name).fixed.outbox;
      const existing = await readOutboxSettings(redis, keys, lane.id, input.name);
      if (existing !== null && differencesOf(existing, wanted).length === 0) {
        await indexOutbox(redis, keys, lane.id, input.name);
        const outbox = await readOutboxStatus(lane, input.name);
        if (outbox !== null) return { ...outbox, outcome: 'existing' };
      }
      // An outbox that exists needs no room.
      await mustHaveRoom(redis);
      const isNew = await by.audited(
        { action: 'outbox.create', lane: lane.id, details: { outbox: input.name } },
        async () => {
          await redis.sadd(keys.lanes, lane.id);
          await indexOutbox(redis, keys, lane.id, input.name);
          if (wanted.window !== undefined) await registerWindows(lane, [wanted.window], clock());
          const payer = payerOf(by.actor, config.keyBytes);
          const text = luaJson(JSON.stringify(settings));
          const { created, used } = await createScript.run(
            redis,
            { ...laneKeys(keys, lane.id, ['states', 'keyBytes']), outbox: key },
            {
              id: outboxId(input.name),
              state: JSON.stringify({
                ...BEGINNING,
                ...stateOf(settings),
                outbox: input.name,
                launchAt: clock(),
              }),
              settings: text,
              edition: editionOf(settings),
              ...payer,
              bytes: OUTBOX_BYTES + Buffer.byteLength(text),
            },
          );
          if (created === -1) throw keyFull(payer, lane.name, used);
          if (created === 1) {
            // One of the same name may have been deleted meanwhile.
            await indexOutbox(redis, keys, lane.id, input.name);
            return true;
          }
          const stored = await readOutboxSettings(redis, keys, lane.id, input.name);
          const [different] = stored === null ? [] : differencesOf(stored, wanted);
          if (different !== undefined)
            throw new OutboxExistsError(
              `outbox ${input.name} exists with a different \`${different}\`; to change it, set the outbox instead of creating it`,
              { field: different },
            );
          return false;
        },
      );
      const outbox = await readOutboxStatus(lane, input.name);
      if (outbox === null) throw noSuchOutbox(input.name);
      return { ...outbox, outcome: isNew ? 'created' : 'existing' };
    },

    async list(options = {}) {
      const all: OutboxStatus[] = [];
      for (let after: string | undefined; ; ) {
        const { outboxes, nextCursor } = await page({ ...options, limit: MAX_PAGE, cursor: after });
        all.push(...outboxes);
        if (nextCursor === null) return all;
        after = nextCursor;
      }
    },

    page,

    laneOf: async (name, { lanes } = {}) => finder.nameOf((await openedOn(name, lanes)).lane.id),
  };

  return {
    ...outboxes,

    open(name, { lanes } = {}) {
      // Found once: an outbox of this name that another lane gets later is not this one.
      let lane: Promise<LaneId> | undefined;
      const outbox = operatedOutbox(options, by, name, async () => {
        lane ??= opener.laneOf(name, lanes);
        try {
          return await opener.open(await lane, name);
        } catch (error) {
          lane = undefined;
          throw error;
        }
      });
      return {
        ...outbox,
        // One that cannot be read is closed, and what waits in it is cancelled. It still knows which messages were sent.
        async delete() {
          if (!(await makeOutboxReadable(redis, keys, await opener.laneOf(name, lanes), name)))
            return outbox.delete();
          await outbox.close();
          await outbox.cancelAll();
        },
      };
    },
  };
}
