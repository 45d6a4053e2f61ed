import { z } from 'zod';
import { mustHaveRoom } from '../../base/redis/memory.js';
import { InputError } from '../../campaign/errors/errors.js';
import { isOfRecipients } from '../../campaign/estimate/window.js';
import { type Limits, limitsFor, refusedSender } from '../../campaign/limits/check-limits.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { OutboxChange } from '../../campaign/views/outbox-views.js';
import { activate, wakeLane } from '../../engine/jobs/wake.js';
import type { Lane } from '../../engine/lane/lane.js';
import { keyFull, usedBytes } from '../../engine/recipients/key-bytes.js';
import { editionField, outboxId, outboxKeys } from '../../engine/recipients/outbox-messages.js';
import { registerWindows } from '../../engine/recovery/windows.js';
import { type LaneStore, laneScript } from '../../engine/scripts/lane-script.js';
import { scriptEvents } from '../../engine/scripts/script-events.js';
import { defineOutbox, type OutboxInput } from './definition/define-outbox.js';
import { MessagesUnfitError, RecoveringError } from './definition/errors.js';
import { editionOf, type OutboxDefinition, type OutboxSettings, stateOf } from './definition/settings.js';
import type { WaitingMessage } from './definition/stored-message.js';
import {
  changedSettings,
  inputOf,
  refusalsOf,
  unfitMessages,
  waitingReader,
} from './messages/change-outbox.js';
import { asWaiting, isChangeable, REWRITE_LEASE_MS, rewriteAll } from './messages/rewrite-messages.js';
import { outboxStore } from './messages/store.js';
import { noSuchOutbox, type Opened, type OutboxesOptions } from './open-outbox.js';
import { lapseDue } from './tending/tend-lane.js';

/** The settings to change. Null resets one to its default; one that you leave out keeps its value, also within `window`. */
export type OutboxSettingsInput = {
  readonly [Name in Exclude<keyof OutboxInput, 'name' | 'lane' | 'window'>]?: OutboxInput[Name] | null;
} & { readonly window?: Partial<NonNullable<OutboxInput['window']>> | null | undefined };

/** More about a change of settings. */
export interface SetOptions {
  /** Values for waiting messages that lack them. */
  readonly values?: Readonly<Record<string, string>> | undefined;
}

/** Changes the settings of an outbox. */
export interface OutboxSetter {
  /**
   * Gives the outbox other settings, also for the messages that wait. Once it resolves, no request of
   * them starts as the earlier settings said. A message with a `sendAt` of its own keeps its time. Rejects with an `InputErrors` that names the
   * values that waiting messages lack; then nothing has changed.
   */
  set(changes: OutboxSettingsInput, options?: SetOptions): Promise<OutboxChange>;
  /** What {@link OutboxSetter.set} would do. Changes nothing. */
  previewSet(changes: OutboxSettingsInput, options?: SetOptions): Promise<OutboxChange>;
}

/** What a change of an outbox needs of its lane. */
type ChangedLane = LaneStore &
  Pick<Lane, 'name' | 'emit'> & { readonly settings: Parameters<typeof limitsFor>[0] } & Parameters<
    typeof wakeLane
  >[0];

/** What a change needs of an open outbox. */
interface Changeable extends Pick<Opened, 'settings' | 'forget'> {
  readonly lane: ChangedLane;
}

/** What a change needs besides. */
interface ChangeOptions extends Pick<OutboxesOptions, 'redis' | 'keys' | 'wakers' | 'clock'> {
  readonly config: Pick<OutboxesOptions['config'], 'keyBytes' | 'prices'>;
  /** Time in ms, for tests. Default: the time of Redis. */
  readonly now?: (() => number) | undefined;
}

/** Gives an outbox the settings that follow from those it has. */
type Replaces = (
  wantedOf: (settings: OutboxSettings, lane: ChangedLane) => OutboxDefinition,
  options: SetOptions & { readonly isPreview?: boolean },
) => Promise<OutboxChange>;

const changeScript = laneScript(import.meta.url, './messages/change-outbox.lua', (reply) => {
  const [outcome, events] = z
    .tuple([z.enum(['changed', 'other', 'missing', 'recovering', 'full']), z.string()])
    .parse(reply);
  return { outcome, events: scriptEvents(events) };
});

/** What an outbox takes beside its settings, in bytes. */
export const OUTBOX_BYTES = 1_024;
/** Each time, another process has changed the outbox meanwhile. */
const SET_TRIES = 20;

/** Changes the settings of an outbox for an operator. */
export function outboxSetter(
  options: OutboxesOptions,
  by: Operator,
  name: string,
  open: () => Promise<Opened>,
): OutboxSetter {
  const { config, clock } = options;
  const replace = settingsReplacer(options, by, name, open);
  const wantedBy =
    (changes: OutboxSettingsInput) =>
    (settings: OutboxSettings, lane: ChangedLane): OutboxDefinition => {
      const before = inputOf(name, lane.name, settings);
      return defineOutbox(config, merged(before, changes), clock(), lane.rules);
    };
  return {
    set: (changes, more = {}) => replace(wantedBy(changes), more),
    previewSet: (changes, more = {}) => replace(wantedBy(changes), { ...more, isPreview: true }),
  };
}

/** The input with these changes. */
function merged(before: OutboxInput, changes: OutboxSettingsInput): OutboxInput {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const values = given.map(([name, value]) => [name, value ?? undefined]);
  const window = changes.window ? [['window', { ...before.window, ...changes.window }]] : [];
  return { ...before, ...Object.fromEntries([...values, ...window]) };
}

/** See {@link Replaces}. */
export function settingsReplacer(
  { redis, keys, config, wakers, clock, now }: ChangeOptions,
  by: Operator,
  name: string,
  open: () => Promise<Changeable>,
): Replaces {
  /** Changes the outbox if it still has the settings that this process knows. */
  const change = async (
    { lane, settings: stored }: Changeable,
    settings: OutboxSettings,
  ): Promise<'changed' | 'other'> => {
    await mustHaveRoom(redis);
    if (settings.window !== undefined) await registerWindows(lane, [settings.window], clock());
    const text = JSON.stringify(settings);
    const { fixed } = outboxKeys(keys, lane.id, name);
    const { outcome, events } = await activate(
      lane,
      () =>
        changeScript(
          lane,
          {
            id: outboxId(name),
            before: editionOf(stored),
            settings: text,
            edition: editionOf(settings),
            earlier: editionField(stored.revision),
            changes: JSON.stringify(stateOf(settings)),
            leaseUntil: clock() + REWRITE_LEASE_MS,
            bytes: OUTBOX_BYTES + Buffer.byteLength(text),
            limit: config.keyBytes,
            time: now?.(),
          },
          [],
          { ownKeys: { outbox: fixed.outbox } },
        ),
      () => wakeLane(lane, wakers),
    );
    lane.emit(events);
    if (outcome === 'missing') throw noSuchOutbox(name);
    if (outcome === 'recovering') throw new RecoveringError();
    if (outcome === 'full') {
      const key = (await redis.hget(fixed.outbox, 'payer')) ?? '';
      const used = await usedBytes(redis, keys, lane.id, key);
      throw keyFull({ key, limit: config.keyBytes }, lane.name, used);
    }
    return outcome;
  };

  /** Does what the outbox now has to do with its messages. If this process dies before the end, a worker does it. */
  const finish = async (lane: ChangedLane, settings: OutboxSettings): Promise<OutboxChange['unfit']> => {
    const unfit = unfitMessages();
    await rewriteAll(lane, name, settings, clock, unfit);
    lane.emit((await lapseDue(lane, now?.())).events);
    return unfit.list();
  };

  return async (wantedOf, { values, isPreview = false }) => {
    for (let tries = 0; tries < SET_TRIES; tries += 1) {
      const opened = await open();
      const { lane, settings: stored } = opened;
      const next = changedSettings(stored, wantedOf(stored, lane), values);
      if (next === null) return { name, changed: [], waiting: 0, moved: 0, dueNow: 0, lapsing: 0, unfit: [] };
      const { settings, changed } = next;
      refuseUnused(settings, values);
      const limits = limitsFor(lane.settings, by, config.prices?.currency);
      const sender = refusedSender(limits, settings.sender);
      if (sender !== null) throw sender;
      // An earlier change is completed first, because its values for messages that lack some are not those of this one.
      if (!isPreview) await rewriteAll(lane, name, stored, clock);
      const effect = await effectOf(lane, name, { stored, settings, limits, now: clock() });
      const preview = { name, changed, ...effect };
      if (isPreview) return preview;
      refuseUnfit(preview);
      const details = { outbox: name, changed: changed.join(' ') };
      const outcome = await by.audited({ action: 'outbox.set', lane: lane.id, details }, () =>
        change(opened, settings),
      );
      opened.forget();
      if (outcome === 'other') continue;
      // What was put, or released, while the others were checked may be unfit, too.
      return { ...preview, unfit: await finish(lane, settings) };
    }
    throw new Error(`outbox ${name} was changed by others ${SET_TRIES} times meanwhile: change it again`);
  };
}

/** Throws for a value that neither the text nor the rule uses. */
function refuseUnused({ columns, window }: OutboxSettings, values: SetOptions['values'] = {}): void {
  const used = isOfRecipients(window) ? [...columns, 'zone'] : columns;
  const unused = Object.keys(values).find((value) => !used.includes(value));
  if (unused === undefined) return;
  throw new InputError(`neither the message nor the send time uses the value ${JSON.stringify(unused)}`, {
    field: 'values',
  });
}

/** Throws if messages that wait could not be sent after the change. */
function refuseUnfit({ unfit }: OutboxChange): void {
  if (unfit.length === 0) return;
  throw new MessagesUnfitError(
    unfit.map(({ member, reason, messageCount, ids }) => {
      const which = `${messageCount === 1 ? 'a waiting message' : `${messageCount} waiting messages`} (${ids.join(', ')}${messageCount > ids.length ? ', …' : ''})`;
      return new InputError(
        `${which} cannot be sent with these settings: \`${member}\` ${reason}. Give these messages a value for it, or cancel them first`,
        { field: member },
      );
    }),
  );
}

const DEARER = 'needs more segments, which a limit of the cost per day does not allow for messages that wait';

type Effect = Omit<OutboxChange, 'name' | 'changed'>;

/** A change of settings by an operator with these limits, at `now`, ms. */
interface ChangeOf {
  readonly stored: OutboxSettings;
  readonly settings: OutboxSettings;
  readonly limits: Limits;
  readonly now: number;
}

/** What settings would do to the messages that wait. */
async function effectOf(
  lane: LaneStore,
  name: string,
  { stored, settings, limits, now }: ChangeOf,
): Promise<Effect> {
  const windows = [settings.window, lane.rules.sendWindow].filter((rule) => rule !== undefined);
  const read = waitingReader(settings, windows);
  const readBefore = waitingReader(stored, windows);
  const unfit = unfitMessages();
  let [waiting, moved, dueNow, lapsing] = [0, 0, 0, 0];
  for await (const [id, message] of waitingMessages(lane, name)) {
    waiting += 1;
    const { dueAt, hasOwnTime, segments, problems } = read(message, now, limits);
    const refusals = refusalsOf({ problems });
    // The day has counted what the message cost when it was put.
    if (limits.needsPrices && (segments ?? 0) > (readBefore(message, now, limits).segments ?? 0))
      refusals.push({ member: 'message', code: 'notAllowed', reason: DEARER });
    unfit.note(id, refusals);
    if (refusals.length > 0) continue;
    const isMoved = !hasOwnTime && Math.ceil((dueAt || now) / 1_000) !== message.due;
    if (problems.length > 0) lapsing += 1;
    if (isMoved) moved += 1;
    if (isMoved && problems.length === 0 && message.due * 1_000 > now && dueAt <= now) dueNow += 1;
  }
  return { waiting, moved, dueNow, lapsing, unfit: unfit.list() };
}

/** What waits in an outbox, with its id. */
async function* waitingMessages(
  lane: LaneStore,
  name: string,
): AsyncGenerator<readonly [id: string, message: WaitingMessage]> {
  for await (const some of outboxStore(lane, name).all())
    for (const [id, message] of some) if (isChangeable(message)) yield [id, asWaiting(message)];
}
