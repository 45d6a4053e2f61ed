import type { Reply } from '../../service/client/exchange.js';
import { resultOf, type Title } from './judge.js';
import type { ConformanceCheck } from './report.js';
import type { Run } from './run.js';
import type { TestRequest } from './session.js';

/*
 * Each check of a service is a row: what it sends, what it expects, and which row of test/interface/README.md says so. One function makes them,
 * in the order of their tables. A row that only looks is not part of the report: it shows which way the service takes (ways.ts).
 */

/** Why a check was not made, or failed, without a request. */
interface Unsent {
  readonly result: 'skipped' | 'failed';
  readonly found: string;
}

/** A request, and what is done with its response. `Subject`: what the rows of a table are about, such as a message. */
interface Request<Subject> {
  /** Undefined: the row does not apply. */
  readonly sends: (subject: Subject, run: Run) => TestRequest | Unsent | undefined;
  /** Keeps what later rows need, and notes ways. Called with each response, whatever the result. */
  readonly learn?: (reply: Reply, subject: Subject, run: Run) => void;
}

/** A row that checks one response. */
export interface Check<Subject> extends Request<Subject>, Omit<Title, 'expected'> {
  readonly expected: string | ((run: Run) => string);
  /** What else must hold, beside the documented form: what is wrong, or null. */
  readonly also?: (reply: Reply, subject: Subject, run: Run) => string | null;
  /** Called if the request was sent, and there was no response. */
  readonly unanswered?: (subject: Subject) => void;
}

/** A row that only looks. */
type Look<Subject> = Request<Subject> & { readonly name?: never };

/** A table of checks. */
export type Rows<Subject> = readonly (Check<Subject> | Look<Subject>)[];

/** Makes the checks of a table. */
export async function* runChecks<Subject>(
  rows: Rows<Subject>,
  subject: Subject,
  run: Run,
): AsyncGenerator<ConformanceCheck> {
  for (const row of rows) {
    const request = row.sends(subject, run);
    if (request === undefined) continue;
    if ('result' in request) {
      if (row.name !== undefined) yield resultOf(titleOf(row, run), request.result, request.found);
      continue;
    }
    const arrived = await run.session.request(request);
    const check = row.name === undefined ? undefined : checkOf(row, arrived, subject, run);
    // Before the result is out: a test that ends there removes what this request has made.
    if (arrived.kind === 'reply') row.learn?.(arrived.reply, subject, run);
    else if (arrived.kind === 'failed' && row.name !== undefined) row.unanswered?.(subject);
    if (check !== undefined) yield check;
  }
}

function checkOf<Subject>(
  row: Check<Subject>,
  arrived: Awaited<ReturnType<Run['session']['request']>>,
  subject: Subject,
  run: Run,
): ConformanceCheck {
  const title = titleOf(row, run);
  switch (arrived.kind) {
    case 'notSent':
      return resultOf(title, 'skipped', arrived.reason);
    case 'failed':
      return resultOf(title, 'failed', arrived.reason);
    case 'reply': {
      const { reply, secrets } = arrived;
      run.seen.push(reply);
      return run.judge(title, reply, secrets, () => row.also?.(reply, subject, run) ?? null);
    }
    default:
      return arrived satisfies never;
  }
}

function titleOf<Subject>({ expected, ...row }: Check<Subject>, run: Run): Title {
  return { ...row, expected: typeof expected === 'string' ? expected : expected(run) };
}
