import { InputError } from '../errors/errors.js';
import { SETTLED_STATES } from '../states/recipient.js';
import {
  parseWantedStatus,
  type ReportedStatus,
  STATUS_GROUPS,
  statusesOf,
  type WantedStatus,
} from '../states/reported-status.js';

/** A list that consists of the recipients of an earlier campaign who have certain final states. */
export interface ResultsOf {
  /** The id of a campaign that is completed or cancelled. */
  readonly campaign: string;
  /** Final states, or groups of them such as `failed`, in any spelling that the report accepts. */
  readonly status: readonly string[];
}

const isFinal = (status: ReportedStatus): boolean => SETTLED_STATES.some((state) => state === status);

/** What `status` may contain. */
export const FINAL_STATUSES: readonly WantedStatus[] = [
  ...SETTLED_STATES,
  ...(Object.keys(STATUS_GROUPS) as (keyof typeof STATUS_GROUPS)[]),
];

/** What people may write, for help and errors. */
export const FINAL_STATUS_FORM = `one or more of delivered, failed (${STATUS_GROUPS.failed.join(', ')}), ${SETTLED_STATES.join(', ')}`;

/** Reads a final state, or the name of a group; null for any other text. */
export function parseFinalStatus(text: string): WantedStatus | null {
  const wanted = parseWantedStatus(text);
  return wanted !== null && statusesOf(wanted).every(isFinal) ? wanted : null;
}

/** The form in which it is stored and compared: each state once, in order. Texts that are no final states stay as they are. */
export function storedResultsOf({ campaign, status }: ResultsOf): ResultsOf {
  const states = status.flatMap((text): readonly string[] => {
    const wanted = parseFinalStatus(text);
    return wanted === null ? [text] : statusesOf(wanted);
  });
  return { campaign, status: [...new Set(states)].sort() };
}

/** There is no such campaign, or the caller may not see it. */
export const noSuchSource = (campaign: string): InputError =>
  new InputError(
    `campaign ${campaign} does not exist: it was removed after its retention period, or never existed`,
    { field: 'toResultsOf' },
  );

/** Why it is invalid; null if it is valid. */
export function resultsOfProblem({ campaign, status }: ResultsOf): string | null {
  // Programs without types may pass anything.
  if (typeof campaign !== 'string' || campaign === '' || !Array.isArray(status))
    return 'toResultsOf needs `campaign`, the id of a campaign, and `status`, a list of final states';
  const [other] = status.filter((text) => typeof text !== 'string' || parseFinalStatus(text) === null);
  if (status.length > 0 && other === undefined) return null;
  const found =
    other === undefined ? 'toResultsOf has no status' : `${JSON.stringify(other)} is no final state`;
  return `${found}: use ${FINAL_STATUS_FORM}`;
}
