import type { Random } from '../../../base/clock.js';
import { type Distribution, sample } from '../rules/distribution.js';
import type { MagicName } from '../rules/magic-recipients.js';
import type { Version } from '../rules/versions.js';

/** What happens to one recipient. It is drawn when the request is accepted, so that no timer is needed. */
export interface Fate {
  /** The time from acceptance to the final status, ms. */
  readonly delayMs: number;
  /**
   * `unlisted`: polls report an undocumented status; `never`: the status stays DeliveredToNetwork; `uncertain`: so it does in version 1,
   * and version 3 cannot determine it. Version 1 has no word for invalid addresses: delivery is impossible.
   */
  readonly final:
    | 'delivered'
    | 'impossible'
    | 'impossibleAtOnce'
    | 'unlisted'
    | 'never'
    | 'uncertain'
    | 'invalidDestination'
    | 'invalidSource';
}

/** A status that the interface page does not document. */
export const UNLISTED_STATUS = 'MessageWaiting';

/** Draws the fate of a recipient; `impossible` is the share of ordinary recipients that cannot be reached. */
export function drawFate(
  magic: MagicName | undefined,
  time: Distribution,
  impossible: number,
  random: Random,
): Fate {
  const delayMs = sample(time, random);
  switch (magic) {
    case 'deliveredAtOnce':
      return { delayMs: 0, final: 'delivered' };
    case 'impossible':
      return { delayMs, final: 'impossible' };
    case 'impossibleAtOnce':
      return { delayMs: 0, final: 'impossibleAtOnce' };
    case 'unlistedStatus':
      return { delayMs, final: 'unlisted' };
    case 'neverFinal':
      return { delayMs, final: 'never' };
    case 'uncertain':
    case 'invalidDestination':
    case 'invalidSource':
      return { delayMs, final: magic };
    default: {
      const unreachable = magic === undefined && impossible > 0 && random() < impossible;
      return { delayMs, final: unreachable ? 'impossible' : 'delivered' };
    }
  }
}

/** The statuses in which a message stays. Version 3 does not look again for one that it cannot determine. */
const FINAL_STATUSES: ReadonlySet<string> = new Set([
  'DeliveredToTerminal',
  'DeliveryImpossible',
  'DeliveryUncertain',
  'InvalidDestAddress',
  'InvalidSrcAddress',
]);

/** Whether a message stays in a status. */
export function isFinal(status: string): boolean {
  return FINAL_STATUSES.has(status);
}

/** The final status of a fate; null if there is none. */
export function finalStatus(final: Fate['final'], version: Version): string | null {
  const status = statusAfter({ delayMs: 0, final }, 0, { version, asynchronous: false });
  return isFinal(status) ? status : null;
}

/** What the statuses of a request depend on, beside the fates of its recipients. */
interface Manner {
  readonly version: Version;
  /** The service answers before it has tried to send: only in version 3. */
  readonly asynchronous: boolean;
}

/** The status in the reply to the send request, as in the example of the interface page. */
export function statusOnAcceptance(fate: Fate, { asynchronous }: Manner): string {
  if (asynchronous) return 'MessageAccepted';
  return fate.final === 'impossibleAtOnce' ? 'DeliveryImpossible' : 'DeliveredToNetwork';
}

/** When a message reaches the network, in ms after its acceptance: at once, or after half of its time if it is asynchronous. */
export function networkAfterMs({ delayMs }: Fate, { asynchronous }: Manner): number {
  return asynchronous ? delayMs / 2 : 0;
}

/** The status that a poll reports `elapsedMs` after acceptance. */
export function statusAfter(fate: Fate, elapsedMs: number, manner: Manner): string {
  const isOver = elapsedMs >= fate.delayMs;
  const isV3 = manner.version === 'v3';
  const before = elapsedMs >= networkAfterMs(fate, manner) ? 'DeliveredToNetwork' : 'MessageAccepted';
  switch (fate.final) {
    case 'impossibleAtOnce':
      return 'DeliveryImpossible';
    case 'unlisted':
      return UNLISTED_STATUS;
    case 'never':
      return before;
    case 'uncertain':
      return isV3 && isOver ? 'DeliveryUncertain' : before;
    case 'delivered':
      return isOver ? 'DeliveredToTerminal' : before;
    case 'impossible':
      return isOver ? 'DeliveryImpossible' : before;
    case 'invalidDestination':
      return isOver ? (isV3 ? 'InvalidDestAddress' : 'DeliveryImpossible') : before;
    case 'invalidSource':
      return isOver ? (isV3 ? 'InvalidSrcAddress' : 'DeliveryImpossible') : before;
    default:
      return fate.final satisfies never;
  }
}
