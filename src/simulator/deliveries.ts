import type { Random } from '../clock.js';
import { type Distribution, sample } from './distribution.js';
import type { MagicName } from './magic-recipients.js';
import type { Version } from './versions.js';

/**
 * `unlisted`: polls report an undocumented status; `never`: the status stays DeliveredToNetwork; `uncertain`: so it does in version 1,
 * and version 3 cannot determine it.
 */
export const FINALS = [
  'delivered',
  'impossible',
  'impossibleAtOnce',
  'unlisted',
  'never',
  'uncertain',
] as const;

/** What happens to one recipient. It is drawn when the request is accepted, so that no timer is needed. */
export interface Fate {
  /** The time from acceptance to the final status, ms. */
  readonly delayMs: number;
  /** See {@link FINALS}. */
  readonly final: (typeof FINALS)[number];
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
      return { delayMs, final: 'uncertain' };
    default: {
      const unreachable = magic === undefined && impossible > 0 && random() < impossible;
      return { delayMs, final: unreachable ? 'impossible' : 'delivered' };
    }
  }
}

/** The final status of a fate; null if there is none. */
export function finalStatus(final: Fate['final'], version: Version = 'v1'): string | null {
  const status = statusAfter({ delayMs: 0, final }, 0, version);
  return /^(DeliveredToTerminal|DeliveryImpossible|DeliveryUncertain)$/.test(status) ? status : null;
}

/** The status in the reply to the send request, as in the example of the interface page. */
export function statusOnAcceptance(fate: Fate): string {
  return fate.final === 'impossibleAtOnce' ? 'DeliveryImpossible' : 'DeliveredToNetwork';
}

/** The status that a poll reports `elapsedMs` after acceptance. */
export function statusAfter(fate: Fate, elapsedMs: number, version: Version = 'v1'): string {
  switch (fate.final) {
    case 'impossibleAtOnce':
      return 'DeliveryImpossible';
    case 'unlisted':
      return UNLISTED_STATUS;
    case 'never':
      return 'DeliveredToNetwork';
    case 'uncertain':
      return version === 'v3' && elapsedMs >= fate.delayMs ? 'DeliveryUncertain' : 'DeliveredToNetwork';
    case 'delivered':
      return elapsedMs >= fate.delayMs ? 'DeliveredToTerminal' : 'DeliveredToNetwork';
    case 'impossible':
      return elapsedMs >= fate.delayMs ? 'DeliveryImpossible' : 'DeliveredToNetwork';
    default:
      return fate.final satisfies never;
  }
}
