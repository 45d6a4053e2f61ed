import { compileTemplate, type Template } from '../campaign/template.js';
import type { SendRequest } from '../gateway/messaging.js';
import { type CampaignMeta, readMeta } from '../lane/campaigns.js';
import type { Lane } from '../lane/lane.js';
import { statusesKey } from '../recipients/campaign-keys.js';
import { createReadCache } from '../recipients/read-cache.js';
import { readRecord } from '../recipients/records.js';
import { DamagedError, sliceReader } from '../recipients/slices.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import type { PollClaim, SendClaim } from './claims.js';

/** What a batch is sent as. `suppressed` tells of each recipient of the batch whether it was left out. */
export type Message = SendRequest & { readonly suppressed: readonly boolean[] };

/** A request that is asked about. */
export interface Followed {
  readonly sender: string;
  readonly requestId: string;
  /** E.164, in the order of the batch. */
  readonly recipients: readonly string[];
  /** Set where nobody knows yet whether the batch is this request: a notification has named it. */
  readonly unknown?: UnknownBatch;
}

/** A batch of unknown outcome that may be the request that is asked about. */
export interface UnknownBatch {
  /** Its claim. */
  readonly number: number;
  /** Of each recipient whether the request went out to it. */
  readonly sent: readonly boolean[];
}

interface Campaign {
  readonly meta: CampaignMeta;
  readonly template: Template;
}

/** Campaigns whose text a process keeps at hand. */
const CAMPAIGNS_AT_HAND = 200;

/** Turns claims into what goes on the wire. Texts and slices are kept at hand, because a lane goes through them in order. */
export function manuscripts(redis: Redis, keys: Keys, lane: Lane) {
  const slices = sliceReader(redis, keys, lane.name);
  const cached = createReadCache<Campaign>(CAMPAIGNS_AT_HAND);

  const campaign = (id: string): Promise<Campaign> =>
    cached(id, async () => {
      const meta = await readMeta(redis, keys, lane.name, id);
      if (meta === null) throw new DamagedError(`campaign ${id} has a state but no text`);
      const compiled = compileTemplate(meta.text, meta.placeholders);
      if (!compiled.ok) throw new DamagedError(`campaign ${id}: ${compiled.reason}`);
      return { meta, template: compiled.template };
    });

  /** What a batch without a request of its own may be; only notifications give rise to that. */
  const suspicion = async (id: string, first: number) => {
    if (lane.rules.notify !== true) return undefined;
    const found = (await lane.commands.unknown()).find(
      (batch) => batch.campaign === id && batch.first === first,
    );
    if (found === undefined || found.suspect === null) return undefined;
    const bytes = await redis.getrange(statusesKey(keys, lane.name, id), first, first + found.count - 1);
    const sent = Array.from({ length: found.count }, (_, at) => bytes[at] === 'U');
    return { requestId: found.suspect, unknown: { number: found.number, sent } };
  };

  return {
    /**
     * One message a claim, or what is wrong with what is stored of it: one damaged campaign is no reason to send nothing
     * of the others. All recipients are asked for suppression at once.
     */
    async messages(
      claims: readonly SendClaim[],
      areSuppressed: (numbers: readonly string[]) => Promise<readonly boolean[]>,
    ): Promise<(Message | DamagedError)[]> {
      const batches = await Promise.all(
        claims.map(({ campaign: id, first, count }) =>
          orDamaged(async () => {
            const { meta, template } = await campaign(id);
            const recipients = await slices.recipients(id, first, count);
            return { meta, template, recipients };
          }),
        ),
      );
      const numbers = batches.flatMap((batch) =>
        batch instanceof DamagedError ? [] : batch.recipients.map(({ number }) => number),
      );
      const suppressed = numbers.length === 0 ? [] : await areSuppressed(numbers);
      let next = 0;
      return claims.map((claim, at) => {
        const batch = batches[at];
        if (batch === undefined) throw new Error('a claim has no batch');
        if (batch instanceof DamagedError) return batch;
        const { meta, template, recipients } = batch;
        const left = recipients.map(() => suppressed[next++] === true);
        return {
          sender: meta.sender,
          ...(meta.senderName === undefined ? {} : { senderName: meta.senderName }),
          recipients: recipients.filter((_, place) => !left[place]).map(({ number }) => number),
          text: template.render(recipients[0]?.values ?? []),
          ...(lane.settings.clientCorrelator === 'off'
            ? {}
            : { clientCorrelator: `${claim.campaign}-${claim.first}-${claim.count}` }),
          suppressed: left,
        };
      });
    },

    /** What to ask for; undefined where the request is not known any more: its campaign is removed, or is being so. */
    async followed(claims: readonly PollClaim[]): Promise<(Followed | undefined)[]> {
      return Promise.all(
        claims.map(async ({ campaign: id, first }) => {
          const followed = await orDamaged(async () => {
            const record = await readRecord(redis, keys, lane.name, id, first);
            if (record === null) return undefined;
            const suspected = record.requestId === '' ? await suspicion(id, first) : undefined;
            const requestId = suspected?.requestId ?? record.requestId;
            if (requestId === '') return undefined;
            const { meta } = await campaign(id);
            const recipients = await slices.recipients(id, first, record.count);
            return {
              sender: meta.sender,
              requestId,
              recipients: recipients.map(({ number }) => number),
              ...(suspected === undefined ? {} : { unknown: suspected.unknown }),
            };
          });
          return followed instanceof DamagedError ? undefined : followed;
        }),
      );
    },
  };
}

async function orDamaged<Read>(read: () => Promise<Read>): Promise<Read | DamagedError> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof DamagedError) return error;
    throw error;
  }
}

/** See {@link manuscripts}. */
export type Manuscripts = ReturnType<typeof manuscripts>;
