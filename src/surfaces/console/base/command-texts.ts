import type { Name, Output } from './api.js';
import { labelOf } from './labels.js';
import { counted, recipientsText } from './texts.js';
import { countText } from './times.js';

/*
 * How the page words the commands that it offers. What is not here comes from the operation: its title, its fields, and its errors.
 */

export interface CommandTexts<Op extends Name> {
  /** The button; default: the first word of the operation's title. */
  readonly label?: string;
  readonly tone?: 'primary' | 'danger';
  /** What the dialog asks before it runs. Without a question and without fields, it runs at once. */
  readonly question?: string;
  /** What happened. */
  outcome(output: Output<Op>): string;
}

/** `Resumed: waiting for quota`. */
const resumed = ({ state }: { readonly state: string }): string =>
  `Resumed: ${labelOf(state).toLowerCase()}.`;
const numbers = (count: number): string => counted(count, 'number');

export const COMMAND_TEXTS: { readonly [Op in Name]?: CommandTexts<Op> } = {
  pauseCampaign: { outcome: ({ inFlight }) => `Paused; ${countText(inFlight)} still in flight.` },
  resumeCampaign: { outcome: resumed },
  cancelCampaign: {
    tone: 'danger',
    outcome: ({ cancelled, inFlight }) =>
      `Cancelled: ${recipientsText(cancelled)} get no message; ${countText(inFlight)} still in flight.`,
  },
  deleteCampaign: { tone: 'danger', outcome: () => 'Deleted.' },
  resolveCampaign: {
    outcome: ({ requests, recipientCount, tooEarly }) => {
      const settled = `${counted(requests, 'request')} with ${recipientsText(recipientCount)} settled.`;
      if (tooEarly === null) return settled;
      return `${settled} ${counted(tooEarly.requests, 'request')} are too early: a worker may still be sending them.`;
    },
  },
  holdLane: {
    question: 'No request of this lane starts until someone resumes it. Requests in flight are finished.',
    outcome: ({ lane }) => `Lane ${lane} is held: no request of it starts.`,
  },
  resumeLane: {
    outcome: ({ lane, state }) => `Lane ${lane} is resumed: ${labelOf(state).toLowerCase()}.`,
  },
  addSuppressions: { label: 'Suppress', outcome: ({ added }) => `${numbers(added)} added to the list.` },
  removeSuppressions: {
    label: 'Lift',
    question: 'Campaigns may send to this number again, unless another list has it.',
    outcome: () => 'The number is no longer on this list.',
  },
  undoSuppressionOperation: { outcome: ({ changed }) => `Undone: ${numbers(changed)}.` },
  pauseOutbox: { outcome: () => 'The outbox is paused.' },
  resumeOutbox: { outcome: () => 'The outbox sends again.' },
  closeOutbox: {
    question: 'It accepts no new messages. Those that it has are still sent.',
    outcome: () => 'The outbox accepts no new messages.',
  },
  pauseSchedule: { outcome: () => 'The schedule is paused.' },
  resumeSchedule: { outcome: () => 'The schedule runs again.' },
  runSchedule: {
    label: 'Run now',
    question: 'It creates a campaign now, besides those of its times.',
    outcome: () => 'The schedule runs now.',
  },
  revokeKey: { tone: 'danger', outcome: () => 'The key is revoked.' },
};
