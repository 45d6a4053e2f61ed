import type { Name, Output } from './api.js';
import { counted, labelOf, recipientsText } from './texts.js';
import { countText } from './times.js';

export interface CommandTexts<Op extends Name> {
  /** The button; default: the first word of the operation's title. */
  readonly label?: string;
  readonly tone?: 'primary' | 'danger';
  /** What the dialog asks before it runs. Without a question and without fields, it runs at once. */
  readonly question?: string;
  /** What happened; default: that the operation is done. */
  outcome?(output: Output<Op>): string;
}

/** `Resumed: waiting for quota`. */
const resumed = ({ state }: { readonly state: string }): string =>
  `Resumed: ${labelOf(state).toLowerCase()}.`;

export const COMMAND_TEXTS: { readonly [Op in Name]?: CommandTexts<Op> } = {
  pauseCampaign: { outcome: ({ inFlight }) => `Paused; ${countText(inFlight)} still in flight.` },
  resumeCampaign: { outcome: resumed },
  cancelCampaign: {
    tone: 'danger',
    outcome: ({ cancelled, inFlight }) =>
      `Cancelled: ${recipientsText(cancelled)} get no message; ${countText(inFlight)} still in flight.`,
  },
  resolveCampaign: {
    outcome: ({ requests, recipientCount, tooEarly }) => {
      const settled = `${counted(requests, 'request')} with ${recipientsText(recipientCount)} settled.`;
      if (tooEarly === null) return settled;
      return `${settled} ${counted(tooEarly.requests, 'request')} are too early: a worker may still be sending them.`;
    },
  },
  holdLane: {
    question: 'No request of this lane starts until someone resumes it. Requests in flight are finished.',
  },
  resumeLane: { question: 'All campaigns of this lane continue, within its quota.', outcome: resumed },
  addSuppressions: { label: 'Suppress' },
  removeSuppressions: {
    label: 'Lift',
    question: 'Campaigns may send to this number again, unless another list has it.',
  },
  closeOutbox: { question: 'It accepts no new messages. Those that it has are still sent.' },
  runSchedule: { label: 'Run now', question: 'It creates a campaign now, besides those of its times.' },
  revokeKey: { tone: 'danger' },
};
