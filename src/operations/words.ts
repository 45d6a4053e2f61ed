import type { z } from 'zod';
import { counted } from '../base/counted.js';
import { listed } from '../campaign/errors/listed.js';
import { RESOLVED } from '../campaign/states/resolutions.js';
import type { OperationName, OperationRow } from './index.js';

/*
 * What people read when an operation is done, on the command line and in the console. The rows themselves need their schemas, which the console
 * has not.
 */

type RowOf<Name> = Extract<OperationRow, { readonly name: Name }>;
type OutputOf<Row> = Row extends { readonly output: infer Output extends z.ZodType }
  ? z.output<Output>
  : unknown;

interface Done<Row extends OperationRow> {
  /** `name`: what it is about, as people call it, where they need no id. */
  readonly text: (output: OutputOf<Row>, input: z.output<Row['input']>, name?: string) => string;
  /** The operation that takes it back: the command line names its command. */
  readonly back?: OperationName;
}

/** What a lane does after it is resumed, by its state. */
const NEXT: Readonly<Record<string, string>> = {
  probing: ' It sends one request first, and the rest when the service accepts that one.',
  recovering: ' It sends when its workers have reported again what they sent last.',
};

/** The end of a sentence about requests that are still running. */
export const stillRunning = (inFlight: number): string =>
  inFlight === 0
    ? ''
    : ` ${counted(inFlight, 'request is', 'requests are')} already on the way and will still finish.`;

/** What is asked before a campaign is cancelled, without the question itself. */
export const cancelWarning = ({ planned, sending }: { planned: number; sending: number }): string =>
  `${counted(planned, 'recipient')} will get no message.${sending === 0 ? '' : ` ${counted(sending, 'message is already on its way', 'messages are already on their way')} and may still arrive.`} This cannot be undone.`;

/** A field of a campaign, or a setting of an outbox, as people call it. */
export const fieldText = (name: string): string =>
  ({
    message: 'text',
    sendAt: 'start',
    sendRule: 'time rule',
    late: 'limit of lateness',
    validFor: 'validity',
    tags: 'set of tags',
    zone: 'time zone',
  })[name] ?? name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** What an addition did. One of numbers that are on the list already is recorded, but there is nothing to undo. */
export function addedText(added: number, known: number, source: string, operation: string | null): string {
  if (operation === null) return 'There are no numbers to add.';
  if (added === 0) {
    return `${known === 1 ? 'The number is' : 'All numbers are'} on the list already, so nothing has changed. Operation ${operation} records it: if you undo the earlier one, ${known === 1 ? 'it stays' : 'they stay'} on the list.`;
  }
  const already = known === 0 ? '' : `; ${known.toLocaleString('en')} already on the list`;
  return `${counted(added, 'number')} added${source}${already}. To undo it: volley suppress undo ${operation}`;
}

/** By the names of the operations. An operation that is not here needs an answer on the command line (surfaces/cli/answers). */
export const DONE = {
  pauseCampaign: {
    text: ({ id, inFlight }, _input, name = `Campaign ${id}`) =>
      `${name} is paused.${stillRunning(inFlight)}`,
    back: 'resumeCampaign',
  },
  resumeCampaign: { text: ({ id }, _input, name = `Campaign ${id}`) => `${name} is resumed.` },
  cancelCampaign: {
    text: ({ id, cancelled, inFlight }, _input, name) =>
      `${name === undefined ? `Campaign ${id} is cancelled` : `${name} is stopped`}. ${cancelled === 0 ? 'Nothing was left to send' : `${counted(cancelled, 'recipient')} will get no message`}.${stillRunning(inFlight)}`,
  },
  setCampaign: {
    text: ({ id, revision, changed, cost }, { preview }) =>
      changed.length === 0
        ? `Campaign ${id} is like that already.`
        : `Campaign ${id} ${preview ? 'would get' : 'has'} another ${listed(changed.map(fieldText))}${preview ? '' : `, and revision ${revision}`}.${cost === null ? '' : ` It ${preview ? 'would cost' : 'costs'} ${cost.total} ${cost.currency}.`}`,
  },
  deleteCampaign: { text: ({ id }) => `Campaign ${id} is deleted.` },
  resolveCampaign: {
    text: ({ requests, recipientCount, tooEarly }, { id, as }, name = `Campaign ${id}`) =>
      `${name}: ${counted(requests, 'request')} with ${counted(recipientCount, 'recipient')} ${RESOLVED[as]}.${tooEarly === null ? '' : ` A worker may still be about to send ${counted(tooEarly.requests, 'request')}.`}`,
  },
  putTemplate: {
    text: ({ name, outcome }) =>
      `Template ${name} ${outcome === 'unchanged' ? 'has this text already' : 'is saved'}.`,
  },
  deleteTemplate: { text: ({ name }) => `Template ${name} is deleted.` },
  pauseSchedule: { text: ({ id }) => `Schedule ${id} is paused.`, back: 'resumeSchedule' },
  removeSchedule: { text: ({ id }) => `Schedule ${id} is removed. Its campaigns remain.` },
  pauseOutbox: {
    text: ({ name, inFlight }) => `Outbox ${name} is paused.${stillRunning(inFlight)}`,
    back: 'resumeOutbox',
  },
  resolveOutbox: {
    text: ({ requests, tooEarly }, { name, as }) =>
      `Outbox ${name}: ${counted(requests, 'message')} ${RESOLVED[as]}.${tooEarly === null ? '' : ` A worker may still be about to send ${counted(tooEarly.requests, 'message')}.`}`,
  },
  resumeOutbox: { text: ({ name }) => `Outbox ${name} is resumed.` },
  cancelMessage: {
    text: ({ outcome }, { id }) =>
      `Message ${id} ${outcome === 'lapsed' ? 'has lapsed' : 'is cancelled'}: it will never be sent.`,
  },
  cancelMessages: {
    text: ({ name, cancelled, inFlight }) =>
      `Outbox ${name}: ${cancelled === 0 ? 'Nothing was waiting' : `${counted(cancelled, 'message')} will never be sent`}.${stillRunning(inFlight)}`,
  },
  forgetNumber: {
    text({ state, cancelled, erased, open, suppressed, lane }) {
      const what = `${counted(cancelled, 'message')} cancelled; the number is erased in ${counted(erased, 'place')}`;
      const rest = {
        done: 'Nothing of it is left.',
        waiting: `${counted(open, 'message')} ${open === 1 ? 'has' : 'have'} no final status yet: workers erase ${open === 1 ? 'it' : 'them'} then.`,
        running: 'The search is not over: workers continue. To see its state, run the command again.',
      }[state];
      const after = suppressed
        ? `It stays suppressed${lane === null ? '' : ` on lane ${lane}`}.`
        : 'It is not suppressed: a new list may contain it.';
      return `${what}. ${rest} ${after}`;
    },
  },
  deleteOutbox: { text: ({ name }) => `Outbox ${name} is deleted.` },
  holdLane: { text: ({ lane }) => `Lane ${lane} is held.`, back: 'resumeLane' },
  resumeLane: { text: ({ lane, state }) => `Lane ${lane} is resumed.${NEXT[state] ?? ''}` },
  setWebhook: { text: ({ id, url }) => `Webhook ${id} posts to ${url}.` },
  assignWebhook: {
    text: ({ id, key }) =>
      `Webhook ${id} ${key === null ? 'belongs to no API key' : `belongs to API key ${key}`}.`,
  },
  enableWebhook: { text: ({ id }) => `Webhook ${id} is enabled.` },
  disableWebhook: { text: ({ id }) => `Webhook ${id} is disabled.`, back: 'enableWebhook' },
  replayWebhook: { text: ({ replayedCount }) => `${counted(replayedCount, 'event')} will be sent again.` },
  removeWebhook: { text: ({ id }) => `Webhook ${id} is removed.` },
} satisfies { readonly [Name in OperationName]?: Done<RowOf<Name>> };

type AnyDone = {
  readonly text: (output: unknown, input: unknown, name?: string) => string;
  readonly back?: OperationName;
};

/** What people read about an operation that is done; undefined if nothing is said about it in general. */
export const doneOf = (name: string): AnyDone | undefined =>
  (DONE as Readonly<Record<string, object>>)[name] as AnyDone | undefined;
