import { EXIT, type ExitCode } from '../../../base/exit-codes.js';
import { moment } from '../../../base/moments.js';
import type { RecordsInput } from '../../../call-records/contract/input.js';
import type { RecordsState } from '../../../call-records/store/states.js';
import type { RecordsRequest } from '../../../call-records/store/view.js';
import { asSentence } from '../../../campaign/errors/errors.js';
import * as operations from '../../../operations/rows/records.js';
import type { Answer, Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { withLocalVolley } from '../open/open.js';
import { withRecords } from '../open/records-service.js';
import { tableOf, timeText } from '../output/table.js';
import { oneLine } from '../output/text.js';
import type { Answers, Opener, Typed } from './answer.js';

/** What people say about a request for call records. */
export interface RequestOptions {
  readonly from?: string;
  readonly to?: string;
  readonly set?: Readonly<Record<string, string>>;
  readonly globalMobile?: true | readonly string[];
  readonly key?: string;
  readonly again?: boolean;
  readonly lane?: string;
}

/** The input of a new request. */
export function requested({ from, to, set, globalMobile, key, lane }: RequestOptions): RecordsInput {
  if (from === undefined || to === undefined)
    throw badInput('Give the first and the last day: --from 2026-01-01 --to 2026-01-31.');
  return { lane, from, to, parameters: set, globalMobile, key };
}

interface ResolveOptions {
  readonly id: string;
  readonly accepted?: string;
  readonly resend?: boolean;
  readonly abandon?: boolean;
}

const typed: Typed = {
  requestRecords: (given: RequestOptions) => ({ ...requested(given), again: given.again }),
  resolveRecords({ id, accepted, resend, abandon }: ResolveOptions) {
    if (accepted !== undefined) return { id, resolution: { as: 'accepted', serviceId: accepted } };
    if (resend || abandon) return { id, resolution: { as: resend ? 'resend' : 'abandon' } };
    throw badInput('Choose one of --accepted, --resend, and --abandon.');
  },
};

/** The credentials of the service are needed to ask it, and to send a request again. */
const opener = (name: string, { resolution }: Readonly<Record<string, unknown>>): Opener =>
  name === 'listRecords' || (name === 'resolveRecords' && Object(resolution).as !== 'resend')
    ? withLocalVolley
    : withRecords;

const answers: Answers<'Call records', typeof operations> = {
  requestRecords: async (run, { context }) => requestAnswer(await run(), context),
  getRecordsStatus: async (run, { context }) => requestAnswer(await run(), context),
  resolveRecords: async (run, { context }) => requestAnswer(await run(), context),

  async listRecords(run, { context: { clock, stdout } }) {
    const { requests } = await run();
    const lines = tableOf(stdout, requests, 'There are no requests.', {
      ID: ({ id }) => id,
      LANE: ({ lane }) => lane,
      STATE: ({ state }) => state,
      DAYS: ({ from, to }) => `${from} to ${to}`,
      CREATED: ({ createdAt }) => timeText(createdAt, clock()),
      NOTE: ({ reason, word }) => reason ?? word,
    });
    return { json: { requests }, lines };
  },
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

export { answers, opener, operations, typed };
