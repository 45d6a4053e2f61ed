import type { ServiceProfile } from './profile.js';

const HOUR_MS = 3_600_000;

/** The published successor of the interface, version 3 (docs/services.md). */
export const v3: ServiceProfile = {
  credentials: { kind: 'client', scope: 'sms' },
  request: { callbackData: true },
  correlatorLifetimeMs: 24 * HOUR_MS,
  statuses: {
    // Open.
    MessageAccepted: 'DeliveredToNetwork',
    DeliveredToNetwork: 'DeliveredToNetwork',
    PartiallyDelivered: 'DeliveredToNetwork',
    // Delivered.
    DeliveredToTerminal: 'DeliveredToTerminal',
    // Impossible.
    DeliveryImpossible: 'DeliveryImpossible',
    InvalidSrcAddress: 'DeliveryImpossible',
    InvalidDestAddress: 'DeliveryImpossible',
    // Unconfirmed.
    DeliveryUncertain: 'DeliveryUncertain',
  },
  securityToken: 'deliveryInfoList',
  hasInbound: true,
  badRequest: 'notAcceptedOrImpossible',
  notAcceptable: { NOT_HTTPS: 'the address must be https; check CALLBACK_URL.' },
};
