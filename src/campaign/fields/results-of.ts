import { InputError } from '../errors/errors.js';
import { RESULT_STATES, type RecipientState } from '../states/recipient.js';
import {
  parseWantedStatus,
  type ReportedStatus,
  STATUS_GROUPS,
  statusesOf,
  type WantedStatus,
} from '../states/reported-status.js';

/** A list that consists of the recipients of an earlier campaign who have certain states when it is read. */
export interface ResultsOf {
  /** The id of a campaign, which may still run. */
  readonly campaign: string;
  /** Final states, `deliveredToNetwork`, `unknown`, or groups such as `failed`, in any spelling that the report accepts. */
  readonly status: readonly string[];
  /** Only of a schedule: how long after the start of that campaign the list is read, such as `6h`. */
  readonly after?: string | undefined;
}

/** The states of recipients whom a follow-up may reach: final ones, and two that may still change, for those who ask for them. */
const FOLLOWED_STATES: readonly RecipientState[] = [...RESULT_STATES, 'deliveredToNetwork'];
const isFollowed = (status: ReportedStatus): boolean => FOLLOWED_STATES.some((state) => state === status);

/** What `status` may contain. */
export const FOLLOWED_STATUSES: readonly WantedStatus[] = [
  ...FOLLOWED_STATES,
  ...(Object.keys(STATUS_GROUPS) as (keyof typeof STATUS_GROUPS)[]),
];

/** What people may write, for help and errors. */
export const FOLLOWED_STATUS_FORM = `one or more of delivered, failed (${STATUS_GROUPS.failed.join(', ')}), ${FOLLOWED_STATES.join(', ')}`;

/** Reads one of these states, or the name of a group; null for any other text. */
export function parseFollowedStatus(text: string): WantedStatus | null {
  const wanted = parseWantedStatus(text);
  return wanted !== null && statusesOf(wanted).every(isFollowed) ? wanted : null;
}

/** The form in which it is stored and compared: each state once, in order. Other texts stay as they are. */
export function storedResultsOf({ campaign, status, ...rest }: ResultsOf): ResultsOf {
  const states = status.flatMap((text): readonly string[] => {
    const wanted = parseFollowedStatus(text);
    return wanted === null ? [text] : statusesOf(wanted);
  });
  return { campaign, status: [...new Set(states)].sort(), ...rest };
}

/** What is doubtful about a list of results: recipients with an unknown outcome may have got the message. */
export const resultsOfWarnings = (resultsOf: ResultsOf | undefined): string[] =>
  resultsOf?.status.includes('unknown')
    ? [
        `It goes to recipients of campaign ${resultsOf.campaign} with an unknown outcome: some have got that message, and some may still get it.`,
      ]
    : [];

/** There is no such campaign, or the caller may not see it. */
export const noSuchSource = (campaign: string): InputError =>
  new InputError(
    `campaign ${campaign} does not exist: it was removed after its retention period, or never existed`,
    { field: 'toResultsOf' },
  );

/** Why it is invalid; null if it is valid. */
export function resultsOfProblem({ campaign, status, after }: ResultsOf): string | null {
  if (after !== undefined)
    return 'only a schedule can send later: add one with `after`, or leave out `after` to send to those who have the states now';
  // Programs without types may pass anything.
  if (typeof campaign !== 'string' || campaign === '' || !Array.isArray(status))
    return 'toResultsOf needs `campaign`, the id of a campaign, and `status`, a list of states';
  const [other] = status.filter((text) => typeof text !== 'string' || parseFollowedStatus(text) === null);
  if (status.length > 0 && other === undefined) return null;
  const found =
    other === undefined ? 'toResultsOf has no status' : `${JSON.stringify(other)} is no state to follow up`;
  return `${found}: use ${FOLLOWED_STATUS_FORM}`;
}
