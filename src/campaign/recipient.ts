/** What the service reports of a recipient, spelled as it does (interface page, DeliveryInfo). */
export const DELIVERY_STATUSES = ['DeliveredToNetwork', 'DeliveredToTerminal', 'DeliveryImpossible'] as const;
/** See {@link DELIVERY_STATUSES}. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** States in which something can still happen to a recipient by itself. */
export const OPEN_STATES = ['planned', 'sending', 'unknown', 'deliveredToNetwork'] as const;

/** States in which a recipient is settled. Only `unconfirmed` may still be replaced, by a late final report. */
export const SETTLED_STATES = [
  'deliveredToTerminal',
  'deliveryImpossible',
  'rejected',
  'lapsed',
  'cancelled',
  'suppressed',
  'abandoned',
  'unconfirmed',
] as const;

/** A recipient is in exactly one of these; their counts add up to the campaign's total at every moment. */
export const RECIPIENT_STATES = [...OPEN_STATES, ...SETTLED_STATES] as const;
/** See {@link RECIPIENT_STATES}. */
export type RecipientState = (typeof RECIPIENT_STATES)[number];

/** True for a string that is one of the interface's delivery statuses. */
export function isDeliveryStatus(text: unknown): text is DeliveryStatus {
  return DELIVERY_STATUSES.some((status) => status === text);
}

/** The letter of each status that the service reports; campaign.lua knows them by their states. */
export const STATUS_LETTER: Readonly<Record<DeliveryStatus, string>> = {
  DeliveredToNetwork: 'N',
  DeliveredToTerminal: 'T',
  DeliveryImpossible: 'I',
};
