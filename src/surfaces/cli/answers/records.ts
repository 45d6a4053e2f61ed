import { EXIT, type ExitCode } from '../../../base/exit-codes.js';
import { moment } from '../../../base/moments.js';
import type { RecordsState } from '../../../call-records/states.js';
import type { RecordsRequest } from '../../../call-records/view.js';
import { asSentence } from '../../../campaign/errors.js';
import * as operations from '../../../operations/records.js';
import type { Answer, Context } from '../context.js';
import { withRecords as open } from '../records-service.js';
import { oneLine } from '../text.js';
import type { Answers } from './answer.js';

const answers: Answers<'Call records', typeof operations> = {
  getRecordsStatus: async (run, { context }) => requestAnswer(await run(), context),
};

const fetchIt = (id: string): string[] => [
  `To wait and download: volley records fetch ${id} --out records.csv`,
];
const nothing = (): string[] => [];

/** What each state means for a command: its exit code, and what people can do next. An unknown outcome waits for an operator. */
const STATES: Readonly<Record<RecordsState, { exit: ExitCode; next: (id: string) => string[] }>> = {
  planned: {
    exit: EXIT.failed,
    next: (id) => [`It was not accepted. To send it: volley records fetch ${id} --out records.csv`],
  },
  requesting: { exit: EXIT.done, next: nothing },
  unknown: {
    exit: EXIT.waits,
    next: (id) => [
      'The service may or may not have accepted it. Look it up there, then:',
      `  volley records resolve ${id} --accepted SERVICE-ID, or --resend`,
    ],
  },
  pending: { exit: EXIT.done, next: fetchIt },
  ready: { exit: EXIT.done, next: fetchIt },
  downloaded: { exit: EXIT.done, next: nothing },
  empty: { exit: EXIT.failed, next: nothing },
  failed: { exit: EXIT.failed, next: nothing },
  expired: { exit: EXIT.failed, next: nothing },
  refused: { exit: EXIT.failed, next: nothing },
  abandoned: { exit: EXIT.done, next: nothing },
};

/** The exit code of a command about a request. */
const exitOf = ({ state }: RecordsRequest): ExitCode => STATES[state].exit;

/** What people read about a request. */
export function requestAnswer(request: RecordsRequest, { clock }: Context): Answer {
  const { id, lane, state, reason, from, to, updatedAt, lastDayOver } = request;
  const since = moment(Date.parse(updatedAt), clock());
  return {
    json: request,
    lines: [
      `Request ${id}, lane ${lane}, ${from} to ${to}: ${stateText(request)} since ${since}.`,
      ...(reason === null ? [] : [asSentence(oneLine(reason))]),
      ...(lastDayOver ? [] : [lastDayWarning(request)]),
      ...STATES[state].next(id),
    ],
    exit: exitOf(request),
  };
}

/** The state of a request, and the word of the service for it. */
export function stateText({ state, word }: RecordsRequest): string {
  return word === null ? state : `${state} (${oneLine(word)})`;
}

/** Says that a file may lack calls. */
export function lastDayWarning({ to }: RecordsRequest): string {
  return `The last day, ${to}, was not over everywhere when the records were requested, so calls may be missing. Request the same days again later: Volley does not reuse this file then.`;
}

export { answers, open, operations };
