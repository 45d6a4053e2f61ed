import type { ServiceProfile } from './profile.js';

/** The interface page. What it does not show, settings decide. */
export const v1: ServiceProfile = {
  credentials: { kind: 'keyOrAccount' },
  request: { callbackData: false },
  correlatorLifetimeMs: null,
  statuses: {
    DeliveredToNetwork: 'DeliveredToNetwork',
    DeliveredToTerminal: 'DeliveredToTerminal',
    DeliveryImpossible: 'DeliveryImpossible',
  },
  securityToken: 'anywhere',
  hasInbound: false,
  badRequest: 'notAccepted',
  notAcceptable: {},
};
