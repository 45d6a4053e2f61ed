import type { Reply } from '../../service/client/exchange.js';
import { resultOf, type Title } from './judge.js';
import type { ConformanceCheck } from './report.js';
import type { Run } from './run.js';
import type { Arrived, TestRequest } from './session.js';

/*
 * Each check of a service is a row: what it sends, what it expects, and which row of test/interface/README.md says so. One function makes
 * them, in the order of the table in checks.ts. A row without a name only looks, and is not part of the report: it shows which way the
 * service takes (ways.ts).
 */

/** What a row found without a response. */
interface Finding {
  readonly result: ConformanceCheck['result'];
  readonly found: string;
}

/** `Subject`: what the rows of a part are about, such as a message. */
interface Look<Subject> {
  readonly name?: never;
  /** The request to send, or what has arrived or was found without it. Undefined: nothing, such as if the row does not apply. */
  readonly sends: (
    subject: Subject,
    run: Run,
  ) => TestRequest | Arrived | Finding | undefined | Promise<Arrived | Finding | undefined>;
  /** Keeps what later rows need, and notes ways. Called with each response, whatever the result. */
  readonly learn?: (reply: Reply, subject: Subject, run: Run) => void;
}

/** A row that checks something. */
export interface Check<Subject> extends Omit<Look<Subject>, 'name'>, Omit<Title, 'expected'> {
  readonly expected: string | ((run: Run) => string);
  /** What else must hold of the response, beside the documented form: what is wrong, or null. */
  readonly also?: (reply: Reply, subject: Subject, run: Run) => string | null;
  /** Called if the request was sent, and there was no response. */
  readonly unanswered?: (subject: Subject) => void;
}

/** The rows of a part. */
export type Rows<Subject> = readonly (Check<Subject> | Look<Subject>)[];

/** A part of the table. */
export interface Part {
  readonly rows: readonly { readonly name?: string; readonly documented?: string | null }[];
  run(run: Run): AsyncGenerator<ConformanceCheck>;
}

/** A part of the table with these rows. `subjectOf`: what they are about; undefined: the part does not apply. */
export function part<Subject>(
  subjectOf: (run: Run) => Subject | undefined | Promise<Subject | undefined>,
  rows: Rows<Subject>,
): Part {
  return {
    rows,
    async *run(run) {
      const subject = await subjectOf(run);
      if (subject === undefined) return;
      for (const row of rows) {
        const check = await resultOfRow(row, subject, run);
        if (check !== undefined) yield check;
      }
    },
  };
}

async function resultOfRow<Subject>(
  row: Rows<Subject>[number],
  subject: Subject,
  run: Run,
): Promise<ConformanceCheck | undefined> {
  const sent = await row.sends(subject, run);
  if (sent === undefined) return undefined;
  const check = row.name === undefined ? undefined : row;
  if ('result' in sent) return check && resultOf(titleOf(check, run), sent.result, sent.found);
  const arrived = 'method' in sent ? await run.session.request(sent) : sent;
  if (check !== undefined && 'method' in sent && arrived.kind === 'reply') run.seen.push(arrived.reply);
  const result = check && judged(check, arrived, subject, run);
  // Before the result is out: a test that ends there removes what this request has made.
  if (arrived.kind === 'reply') row.learn?.(arrived.reply, subject, run);
  else if (arrived.kind === 'failed') check?.unanswered?.(subject);
  return result;
}

function judged<Subject>(
  check: Check<Subject>,
  arrived: Arrived,
  subject: Subject,
  run: Run,
): ConformanceCheck {
  const title = titleOf(check, run);
  if (arrived.kind === 'notSent') return resultOf(title, 'skipped', arrived.reason);
  if (arrived.kind === 'failed') return resultOf(title, 'failed', arrived.reason);
  const { reply, secrets } = arrived;
  return run.judge(title, reply, secrets, () => check.also?.(reply, subject, run) ?? null);
}

function titleOf<Subject>({ expected, ...row }: Check<Subject>, run: Run): Title {
  return { ...row, expected: typeof expected === 'string' ? expected : expected(run) };
}
