import { monotonicClock, systemClock } from '../../base/clock.js';
import { PROFILES } from '../../base/profiles/index.js';
import { withUnavailableErrors } from '../../base/redis/unavailable.js';
import { InputError } from '../../campaign/errors/errors.js';
import { possibleFormsOf } from '../../campaign/numbers/number-forms.js';
import type { Operator } from '../../campaign/states/audit.js';
import { type InboundMessage, MAX_PARTS } from '../../campaign/states/inbound.js';
import { type InboundReceiver, openInboundReceiver } from '../../engine/inbound/inbound-receiver.js';
import {
  type Confirmed,
  type Inbound,
  type InboundInput,
  type InboundListOptions,
  type InboundService,
  inboundService,
} from '../../engine/inbound/inbound-service.js';
import type { Lanes } from '../../engine/lane/lane-finder.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { payerOf } from '../../engine/recipients/key-bytes.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { findLane } from '../../engine/store/campaigns.js';
import { outboxSearch } from '../../intake/outbox/views/outbox-search.js';
import { lastSentReader } from '../../reporting/last-sent.js';
import { sentSince } from '../../reporting/sent-since.js';
import { importDeps, importModules } from './import-deps.js';
import type { Instance } from './instance.js';

const MAX_ID_BYTES = 128;
/** Who creates confirmations. */
const REPLIES = { kind: 'library', id: null, name: 'replies' } as const;

/** Opens what receives the messages of people. Confirmations are campaigns, made by the modules that import them. */
export function openInbound(instance: Instance): InboundService {
  const { redis, keys, config, finder, suppression, events, trail, apiKeysFor } = instance;
  const { replies, retentionMs } = config;
  const { stopReply: message } = replies;
  // The sender of a stop word is no actor that could be named: the record of each operation names the message instead.
  const by = trail.operator(REPLIES);
  /** A confirmation is a message of the API key that has submitted the stop word: its limits apply, and its memory. */
  const payingFor = async (id: string) => {
    if (id === '') return { by };
    const key = await apiKeysFor.limitsOf(id);
    if (key === null) throw new InputError(`API key ${id}, which submitted it, is no longer valid`);
    const { name, limits } = key;
    return { by: trail.operator({ ...REPLIES, limits }), paidBy: { kind: 'key' as const, id, name } };
  };
  const confirm = async ({ lane, message: stop, last, operation }: Confirmed): Promise<string | null> => {
    const { messageId, payer } = stop;
    try {
      const [{ importCampaign }] = await importModules();
      const areSuppressed = (id: string, numbers: readonly string[]): Promise<boolean[]> =>
        Promise.all(numbers.map(async (number) => !(await suppression.isOnlyBy(operation, id, number))));
      const paying = await payingFor(payer);
      const deps = { ...importDeps(instance, finder.named, paying.by), ...paying };
      const outcome = await importCampaign(
        { ...deps, bypasses: operation, suppression: { ...suppression, areSuppressed } },
        {
          recipients: [{ to: last.number }],
          message: message ?? '',
          sender: last.sender,
          lane,
          name: 'Confirmation of a stop word',
          metadata: { suppressionOperation: operation, inboundMessage: messageId },
          idempotencyKey: `stop:${lane}:${messageId}`,
          validFor: '5m',
          again: true,
        },
      );
      if (outcome.outcome !== 'refused') return outcome.id;
      throw new InputError(outcome.errors[0]?.message ?? outcome.message);
    } catch (error) {
      // A number that is suppressed matters more than the text that says so.
      const reason = error instanceof Error ? error.message : String(error);
      events.emit({ type: 'inbound.unconfirmed', lane, messageId, reason });
      return null;
    }
  };
  const outboxes = outboxSearch(redis, keys);
  return inboundService({
    redis,
    keys,
    finder,
    suppression,
    events,
    clock: systemClock,
    retentionMs,
    replies,
    by,
    lastSent: lastSentReader({ redis, keys, outboxes }),
    sentSince: (lane, number, times) => sentSince({ redis, keys, outboxes }, lane, number, times),
    confirm: message === undefined ? undefined : confirm,
  });
}

/** What an actor may do with the messages of people. */
export function inboundFor(
  instance: Pick<Instance, 'config' | 'finder' | 'format' | 'events' | 'redis' | 'keys'>,
  inbound: InboundService,
  by: Operator,
): Inbound {
  const { config, finder, format, events, redis, keys } = instance;
  const { callback } = config;
  let opened: { readonly lanes: Lanes; readonly receiver: InboundReceiver } | undefined;
  return {
    async receiver() {
      if (callback === undefined) return null;
      const lanes = await finder.configured();
      if (opened?.lanes === lanes) return opened.receiver;
      const receiving = [...lanes.values()].filter(({ settings }) => PROFILES[settings.profile].hasInbound);
      const receiver = withUnavailableErrors(
        openInboundReceiver({
          callback,
          lanes: new Map(receiving.map(({ id, name }) => [id, name])),
          receive: (lane, part) => inbound.receive(lane, part),
          events,
          monotonic: monotonicClock,
        }),
      );
      opened = { lanes, receiver };
      return receiver;
    },
    async list({ from, country, ...options } = {}) {
      const numbers = from === undefined ? undefined : await formsIn(from, country ?? config.defaultCountry);
      const lanes = await lanesOf(instance, options);
      const { messages, nextCursor } = await inbound.list({ ...options, lanes, numbers });
      const laneOf = new Map(messages.map(({ lane, lastSent }) => [lastSent?.campaign ?? '', lane]));
      laneOf.delete('');
      const named = [...laneOf].map(async ([campaign, lane]) => {
        const meta = await orNull(readMeta(redis, keys, await finder.known(lane), campaign));
        return [campaign, meta?.name ?? null] as const;
      });
      const names = new Map(await Promise.all(named));
      const nameOf = ({ lastSent }: InboundMessage) => names.get(lastSent?.campaign ?? '') ?? null;
      return { messages: messages.map((each) => ({ ...each, campaignName: nameOf(each) })), nextCursor };
    },
    async receive({ lane, messageId, from, to, text, part, country }: InboundInput) {
      if (messageId === '' || Buffer.byteLength(messageId) > MAX_ID_BYTES)
        throw new InputError(`the id of the message must have 1 to ${MAX_ID_BYTES} bytes`, {
          field: 'messageId',
        });
      if (part !== undefined && !(part.total >= 1 && part.total <= MAX_PARTS))
        throw new InputError(`a message has 1 to ${MAX_PARTS} parts, and not ${part.total}`, {
          field: 'part/total',
        });
      if (part !== undefined && !(part.number >= 1 && part.number <= part.total))
        throw new InputError(`part ${part.number} of ${part.total} does not exist`, { field: 'part/number' });
      const { senderNumbers } = await import('../../campaign/numbers/reply-sender.js');
      const numbers = senderNumbers(from, country ?? config.defaultCountry);
      await format.check();
      await by.authorise();
      // Also a lane that is being removed.
      const id = await finder.known(lane);
      const number = await inbound.textedOf(id, numbers, to);
      await inbound.receive(
        id,
        { messageId, from: number ?? from.trim(), to: to.trim(), text, part },
        payerOf(by.actor, config.keyBytes),
      );
    },
  };
}

/** The lanes to search: the replies to a campaign are on its lane, if it is still stored. */
async function lanesOf(
  { redis, keys, finder }: Pick<Instance, 'redis' | 'keys' | 'finder'>,
  { lanes, campaign }: InboundListOptions,
): Promise<readonly string[] | undefined> {
  const id = campaign === undefined ? null : await findLane(redis, keys, campaign);
  if (id === null) return lanes;
  const name = await finder.nameOf(id);
  return lanes === undefined || lanes.includes(name) ? [name] : lanes;
}

/** The numbers that a spelling of one means. */
async function formsIn(from: string, country: string | undefined): Promise<readonly string[]> {
  const { numberReader } = await import('../../campaign/numbers/number.js');
  const read = numberReader(country)(from);
  if (!read.ok) throw new InputError(read.reason, { field: 'from' });
  return possibleFormsOf(read.number);
}
