import type { LaneSettings } from '../../base/config/index.js';
import { PROFILES } from '../../base/profiles/index.js';
import { type Charger, charger } from '../claim/charge.js';
import { DamagedError } from '../recipients/damaged.js';
import { type BatchText, type CampaignContent, orDamaged } from './campaign-content.js';
import type { Messages } from './message.js';
import type { SendClaim } from './send-claim.js';

/** The suppressed numbers of a lane. */
export interface LaneSuppression {
  areSuppressed(numbers: readonly string[]): Promise<readonly boolean[]>;
  /** Whether this operation suppresses a number, and nothing else does. */
  isOnlyBy(operation: string, number: string): Promise<boolean>;
  /** When a number was last removed, by the clock of Redis, ms; 0: never. */
  lastRemoval(): Promise<number>;
}

/** In a cluster, the times of a removal and of a claim come from different servers, whose clocks may differ by this much. */
const CLOCKS_DIFFER_MS = 60_000;

/** Renders a lane's messages. The numbers of all claims are checked together. */
export function openMessages(
  { settings }: { readonly settings: Pick<LaneSettings, 'profile' | 'clientCorrelator'> },
  content: CampaignContent,
  suppression: LaneSuppression,
  chargeOf: Charger = charger(undefined),
): Messages {
  /** Which numbers of each batch get no message: those that are suppressed; of a campaign that confirms an operation, those that are not by it alone. */
  const suppressedIn = async (
    batches: readonly { readonly meta: BatchText['meta']; readonly numbers: readonly string[] }[],
  ): Promise<boolean[][]> => {
    const all = batches.flatMap(({ numbers }) => numbers);
    const found = all.length === 0 ? [] : await suppression.areSuppressed(all);
    let next = 0;
    return Promise.all(
      batches.map(async ({ meta: { bypasses }, numbers }) => {
        const suppressed = numbers.map(() => found[next++] === true);
        if (bypasses === undefined) return suppressed;
        return Promise.all(numbers.map(async (number) => !(await suppression.isOnlyBy(bypasses, number))));
      }),
    );
  };

  return {
    async isAllowed(claim, { recipients }) {
      const { meta } = await content.text(claim);
      const [suppressed = []] = await suppressedIn([{ meta, numbers: recipients }]);
      return !suppressed.includes(true);
    },
    async render(claims) {
      const batches = await Promise.all(
        claims.map((claim) =>
          orDamaged(async () => {
            const { meta, template } = await content.text(claim);
            const recipients = await content.recipients(claim, claim.count);
            return { meta, template, recipients };
          }),
        ),
      );
      const readable = batches.flatMap((batch) => (batch instanceof DamagedError ? [] : [batch]));
      const suppressed = await suppressedIn(
        readable.map(({ meta, recipients }) => ({ meta, numbers: recipients.map(({ number }) => number) })),
      );
      // Read after the check, so that it covers every number that the check no longer found.
      const removedAt = claims.some(isRepeat) ? await suppression.lastRemoval() : 0;
      return claims.map((claim, at) => {
        const batch = batches[at];
        if (batch === undefined) throw new Error('a claim has no batch');
        if (batch instanceof DamagedError) return batch;
        const { meta, template, recipients } = batch;
        const omitted = suppressed[readable.indexOf(batch)] ?? [];
        const text = template.render(recipients[0]?.values ?? []);
        return {
          sender: meta.sender,
          ...(meta.senderName === undefined ? {} : { senderName: meta.senderName }),
          recipients: recipients.filter((_, place) => !omitted[place]).map(({ number }) => number),
          text,
          charge: chargeOf(text, recipients),
          ...(settings.clientCorrelator === 'off' ? {} : { clientCorrelator: referenceOf(claim, meta) }),
          ...(PROFILES[settings.profile].request.callbackData
            ? { callbackData: referenceOf(claim, meta) }
            : {}),
          suppressed: omitted,
          ...(isRepeat(claim) && (claim.firstAt ?? 0) < removedAt + CLOCKS_DIFFER_MS && removedAt > 0
            ? { firstMayDiffer: true }
            : {}),
        };
      });
    },
  };
}

/** Whether the batch goes again under the correlator of an earlier request. */
const isRepeat = ({ again }: SendClaim): boolean => again === 'underCorrelator';

/**
 * The reference of a batch, at the service. It does not depend on the claim, so that it is the same if Redis has lost the claim. A message
 * has the id of its outbox and its number.
 */
function referenceOf({ first, count, message }: SendClaim, { id }: BatchText['meta']): string {
  return message === undefined ? `${id}-${first}-${count}` : `${id}-${first}`;
}
