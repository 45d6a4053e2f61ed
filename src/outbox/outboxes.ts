import type { Operator } from '../campaign/audit.js';
import type { OutboxStatus } from '../campaign/outbox-views.js';
import { laneNamed } from '../lane/lane.js';
import { registerWindow } from '../lane/windows.js';
import { loadScript } from '../redis/script.js';
import { messageChecker } from './check-message.js';
import { defineOutbox, type OutboxInput } from './define-outbox.js';
import { OutboxExistsError } from './errors.js';
import { noSuchOutbox, type OpenOutbox, type OutboxesOptions } from './open-outbox.js';
import { type Outbox, operatedOutbox } from './outbox.js';
import { outboxKeys } from './outbox-keys.js';
import { readOutboxStatus } from './read-outbox.js';
import { type OutboxDefinition, type OutboxSettings, readOutboxSettings } from './settings.js';

/** All outboxes. */
export interface Outboxes {
  /**
   * Creates an outbox. One of the same name and settings is `existing`. Rejects with an `InputError` if it has other settings: they never
   * change.
   */
  create(
    input: OutboxInput,
  ): Promise<{ readonly outcome: 'created' | 'existing'; readonly outbox: OutboxStatus }>;
  /** By name; of all lanes, or of these. */
  list(options?: { readonly lanes?: readonly string[] | undefined }): Promise<OutboxStatus[]>;
  /** The lane of an outbox. Rejects with a `NotFoundError` if there is no such outbox. */
  laneOf(name: string): Promise<string>;
}

const createScript = loadScript(import.meta.url, './create-outbox.lua', (reply) => reply === 1);
/** Opens the outboxes for an operator. It does not access Redis before the first call. */
export function openOutboxes(
  options: OutboxesOptions,
  open: OpenOutbox,
  by: Operator,
): Outboxes & { open(name: string): Outbox } {
  const { redis, keys, config, finder, clock } = options;

  return {
    async create(input) {
      const wanted = defineOutbox(config, input, clock());
      laneNamed(
        new Map(config.lanes.map((lane) => [lane.name, lane])),
        input.lane ?? config.lanes[0]?.name ?? '',
      );
      const lane = await finder.named(input.lane ?? config.lanes[0]?.name ?? '');
      const settings: OutboxSettings = { ...wanted, created: clock(), createdBy: by.actor };
      // Reports an unknown country before anything is stored.
      messageChecker(settings, config, []);
      const key = outboxKeys(keys, lane.id, input.name).fixed.outbox;
      const isNew = await by.audited(
        { action: 'outbox.create', lane: lane.id, details: { outbox: input.name } },
        async () => {
          await redis.sadd(keys.lanes, lane.id);
          await redis.hsetnx(keys.outboxes, input.name, lane.id);
          const owner = await redis.hget(keys.outboxes, input.name);
          if (owner !== lane.id)
            throw new OutboxExistsError(`another lane has an outbox ${input.name}; choose another name`, {
              field: 'name',
            });
          if (wanted.window !== undefined) await registerWindow(lane, wanted.window, clock());
          if (await createScript.run(redis, { outbox: key }, { settings: JSON.stringify(settings) }))
            return true;
          const stored = await readOutboxSettings(redis, keys, lane.id, input.name);
          const different = stored === null ? undefined : differenceOf(stored, wanted);
          if (different !== undefined)
            throw new OutboxExistsError(
              `outbox ${input.name} exists with another ${different}; its settings never change: create one with another name, and close this one`,
              { field: different },
            );
          return false;
        },
      );
      const outbox = await readOutboxStatus(lane, input.name);
      if (outbox === null) throw noSuchOutbox(input.name);
      return { outcome: isNew ? 'created' : 'existing', outbox };
    },

    async list({ lanes } = {}) {
      const all = Object.entries(await redis.hgetall(keys.outboxes)).sort(([a], [b]) => (a < b ? -1 : 1));
      const found = await Promise.all(
        all.map(async ([name, laneId]) => {
          const lane = await finder.withId(laneId);
          return lanes === undefined || lanes.includes(lane.name) ? readOutboxStatus(lane, name) : null;
        }),
      );
      return found.filter((status) => status !== null);
    },

    laneOf: async (name) => finder.nameOf((await open(name)).lane.id),

    open: (name) => operatedOutbox(options, by, name, () => open(name)),
  };
}

/** The first setting in which the two differ; undefined if none does. */
function differenceOf(stored: OutboxSettings, wanted: OutboxDefinition): string | undefined {
  const names = [
    'message',
    'sender',
    'senderName',
    'sendAt',
    'zone',
    'lateMs',
    'window',
    'priority',
    'country',
  ] as const;
  const found = names.find((name) => stored[name] !== wanted[name]);
  return found === 'lateMs' ? 'late' : found;
}
