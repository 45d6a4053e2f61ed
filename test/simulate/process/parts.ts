import { startStopwatch } from '../../../src/base/clock.js';
import { followUpTurn } from '../../../src/engine/follow-up/follow-up.js';
import { createInbox } from '../../../src/engine/notifications/inbox.js';
import { openReceiver } from '../../../src/engine/notifications/receiver.js';
import { sweepLane } from '../../../src/engine/recovery/sweep.js';
import { replayAfterAnnouncements } from '../../../src/engine/recovery/watch-losses.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import { deliver } from '../../../src/reporting/webhooks/deliver.js';
import { createTokenCache } from '../../../src/service/auth/token-cache.js';

/** The parts of the code under test that a mutant may replace. */
export const PARTS = {
  startStopwatch,
  recentClaims,
  send: sendTurn,
  followUp: followUpTurn,
  sweep: sweepLane,
  inbox: createInbox,
  receiver: openReceiver,
  tokenCache: createTokenCache,
  deliver,
  replayAfterAnnouncements,
};
export type Parts = typeof PARTS;
