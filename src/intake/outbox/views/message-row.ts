import { requestReference } from '../../../campaign/states/campaign.js';
import { NOT_SENT_STATES } from '../../../campaign/states/recipient.js';
import type { ReportedRecipient } from '../../../campaign/views/recipient-views.js';
import { outboxId, type StoredMessage } from '../../../engine/recipients/outbox-messages.js';
import { parseStatusWord } from '../../../engine/recipients/status-words.js';
import { REASONS } from './reasons.js';

/** What the results and a search say about a message, as about a recipient of a campaign. `claim`: the number of its claim, if it is known. */
export function messageRow(outbox: string, message: StoredMessage, claim?: number): ReportedRecipient {
  const { state, to, reference, reason, requestId, word, at, changedAt } = message;
  const said = word === '' ? null : parseStatusWord(word);
  const wasSent = !NOT_SENT_STATES.includes(state) && state !== 'sending';
  return {
    to: to || null,
    status: state,
    reason: reason || REASONS[state] || null,
    requestId: requestId || (claim === undefined ? null : requestReference(outboxId(outbox), claim)),
    reference: reference || null,
    sentAt: wasSent && at > 0 ? new Date(at).toISOString() : null,
    updatedAt: changedAt === 0 ? null : new Date(changedAt).toISOString(),
    serviceStatus: said?.word ?? null,
    serviceCode: said?.code || null,
    leftOut: null,
  };
}
