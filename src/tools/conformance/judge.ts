import type { CheckedReply, InterfaceDescription, Operation } from './description.js';
import { redactedReply } from './redacted.js';
import type { ConformanceCheck } from './report.js';

/** What a check says of itself in the report. */
export interface Title {
  /** No other check has it. */
  readonly name: string;
  readonly operation: Operation;
  /** Default: the section of the interface page that shows the operation. */
  readonly section?: string;
  /** Which row of test/interface/README.md it follows: its first cell. Null: only version 3 documents it (docs/services.md). */
  readonly documented: string | null;
  /** For people. The statuses that it names are those that belong here. */
  readonly expected: string;
}

/** The section of the interface page that shows an operation. */
const SECTION: Readonly<Record<Operation, string>> = {
  send: 'Area A, send message',
  getDeliveryInfos: 'Area A, get delivery infos',
  createSubscription: 'Area A, subscription',
  getSubscription: 'Area A, subscription',
  deleteSubscription: 'Area A, subscription',
  login: 'Area B, login and tokens',
  refresh: 'Area B, login and tokens',
  token: 'Token generation',
};

const WITHOUT_QUOTA: ReadonlySet<Operation> = new Set(['login', 'refresh', 'token']);

/** The result of a check. */
export function resultOf(
  { name, operation, section = SECTION[operation], expected }: Title,
  result: ConformanceCheck['result'],
  found: string,
): ConformanceCheck {
  return { kind: 'check', name, section, result, expected, found };
}

/** Judges a response. `also`: called if it has the documented form; what is wrong nevertheless, or null. */
export type Judge = (
  title: Title,
  reply: CheckedReply,
  secrets: readonly string[],
  also: () => string | null,
) => ConformanceCheck;

/** Opens it; it reports each fault once. `hidden`: texts that no result may contain. */
export function openJudge(description: InterfaceDescription, hidden: readonly string[]): Judge {
  /** The check that found each fault. */
  const faults = new Map<string, string>();
  return (title, reply, secrets, also) => {
    const { name, operation } = title;
    const { status } = reply;
    const shown = redactedReply(reply, [...secrets, ...hidden]);
    if (status === 429 && !WITHOUT_QUOTA.has(operation))
      return resultOf(title, 'skipped', `the quota is used up: ${shown}`);
    const inForm = description.problemOf(operation, reply);
    const isMisplaced = inForm === null && !title.expected.includes(String(status));
    const problem = inForm ?? (isMisplaced ? `the status ${status} does not belong here` : also());
    // The body of a success that passed says nothing new.
    if (problem === null) return resultOf(title, 'passed', status < 400 ? String(status) : shown);
    const fault = `${operation} ${problem}`;
    const first = faults.get(fault);
    // The same status may be wrong for another reason.
    const isForm = !problem.startsWith('the status ') || problem.startsWith('the status of');
    if (isForm && first !== undefined)
      return resultOf(title, 'skipped', `the same fault as in "${first}": ${problem}`);
    faults.set(fault, name);
    return resultOf(title, 'failed', `${problem}; the service answered ${shown}`);
  };
}
