import type { Reply } from '../../service/client/exchange.js';
import type { CheckedReply, InterfaceDescription, Operation } from './description.js';
import { redactedReply } from './redacted.js';
import type { ConformanceCheck } from './report.js';
import type { Session, TestRequest } from './session.js';

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

/** A check of one response. */
export interface Expectation {
  readonly name: string;
  readonly operation: Operation;
  /** Default: the section that shows the operation. */
  readonly section?: string;
  /** For people. */
  readonly expected: string;
  readonly statuses: readonly number[];
  /** What else must hold, beside the documented form: what is wrong, or null. */
  readonly also?: (reply: Reply) => string | null;
}

/** What a result says of its check. */
type Title = Pick<Expectation, 'name' | 'operation' | 'section' | 'expected'>;

/** Checks responses, and keeps them for {@link waysOf}. */
export interface Checker {
  /** The check, and the response if there was one. */
  run(
    session: Session,
    request: TestRequest,
    expectation: Expectation,
  ): Promise<{ check: ConformanceCheck; reply?: Reply }>;
  /** Checks a response that another part has received. */
  judge(
    reply: CheckedReply,
    expectation: Omit<Expectation, 'also'> & { readonly also?: (reply: CheckedReply) => string | null },
    secrets: readonly string[],
  ): ConformanceCheck;
  /** A check that passed, or failed, without a response. */
  pass(expectation: Title, found: string): ConformanceCheck;
  fail(expectation: Title, found: string): ConformanceCheck;
  /** A check that was not made. */
  skip(expectation: Title, why: string): ConformanceCheck;
  /** Every response of the messaging service so far, with the name of its check. */
  readonly seen: readonly { readonly name: string; readonly reply: Reply }[];
}

/** Opens it. `hidden`: texts that no result may contain. */
export function openChecker(description: InterfaceDescription, hidden: readonly string[]): Checker {
  const seen: { name: string; reply: Reply }[] = [];
  const result = (
    { name, operation, section = SECTION[operation], expected }: Title,
    outcome: ConformanceCheck['result'],
    found: string,
  ): ConformanceCheck => ({ kind: 'check', name, section, result: outcome, expected, found });

  /** The check that found each fault, so that one fault is reported once. */
  const faults = new Map<string, string>();
  const failure = (expectation: Title, problem: string, shown: string): ConformanceCheck => {
    const { name, operation } = expectation;
    // The same status may be wrong for another reason.
    const isForm = !problem.startsWith('the status ') || problem.startsWith('the status of');
    const fault = `${operation} ${problem}`;
    const first = faults.get(fault);
    if (isForm && first !== undefined)
      return result(expectation, 'skipped', `the same fault as in "${first}": ${problem}`);
    faults.set(fault, name);
    return result(expectation, 'failed', `${problem}; the service answered ${shown}`);
  };

  const problemOf = (
    reply: CheckedReply,
    { operation, statuses }: Omit<Expectation, 'also'>,
  ): string | null => {
    const problem = description.problemOf(operation, reply);
    if (problem !== null || statuses.includes(reply.status)) return problem;
    return `the status ${reply.status} does not belong here`;
  };

  return {
    seen,
    async run(session, request, expectation) {
      const arrived = await session.request(request);
      if (arrived.kind === 'notSent') return { check: result(expectation, 'skipped', arrived.reason) };
      if (arrived.kind === 'failed') return { check: result(expectation, 'failed', arrived.reason) };
      const { reply } = arrived;
      const secrets = [...arrived.secrets, ...hidden];
      seen.push({ name: expectation.name, reply });
      const shown = redactedReply(reply, secrets);
      if (reply.status === 429)
        return { check: result(expectation, 'skipped', `the quota is used up: ${shown}`), reply };
      const problem = problemOf(reply, expectation) ?? expectation.also?.(reply) ?? null;
      if (problem === null) return { check: result(expectation, 'passed', passedReply(reply, shown)), reply };
      return { check: failure(expectation, problem, shown), reply };
    },
    judge(reply, expectation, secrets) {
      const shown = redactedReply(reply, [...secrets, ...hidden]);
      const problem = problemOf(reply, expectation) ?? expectation.also?.(reply) ?? null;
      return problem === null
        ? result(expectation, 'passed', passedReply(reply, shown))
        : failure(expectation, problem, shown);
    },
    pass: (expectation, found) => result(expectation, 'passed', found),
    fail: (expectation, found) => result(expectation, 'failed', found),
    skip: (expectation, why) => result(expectation, 'skipped', why),
  };
}

/** The body of a success that passed says nothing new. */
function passedReply({ status }: CheckedReply, shown: string): string {
  return status < 400 ? String(status) : shown;
}
