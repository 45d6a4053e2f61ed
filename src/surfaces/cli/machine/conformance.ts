import type { Config } from '../../../base/config/index.js';
import { EXIT } from '../../../base/exit-codes.js';
import type { ProfileName } from '../../../base/profiles/index.js';
import { numberReader } from '../../../campaign/numbers/number.js';
import {
  type ConformanceCheck,
  type ConformanceOptions,
  type ConformanceSend,
  type ConformanceWay,
  recipientsOf,
} from '../../../tools/conformance/report.js';
import { listenForStop } from '../../lifecycle.js';
import { mustConfirm } from '../context/ask.js';
import type { Answer, Context } from '../context/context.js';
import { badInput, CliError } from '../context/errors.js';
import { readNumbers } from '../files/input.js';
import { findService, withVolley } from '../open/open.js';
import { withOptions } from '../output/option-names.js';
import { columnsOf, type Paint } from '../output/terminal.js';
import { padded, wrapped } from '../output/text.js';

interface ConformanceCommandOptions {
  profile?: ProfileName;
  baseUrl?: string;
  accountBaseUrl?: string;
  lane?: string;
  request?: string;
  sender?: string;
  login?: boolean;
  to?: readonly string[];
  message?: string;
  correlator?: boolean;
  twice?: boolean;
  subscribe?: string;
  listen?: string;
  yes?: boolean;
}

const NOTHING_DONE = 'nothing was tested';

/** `volley conformance` */
export async function conformance(context: Context, options: ConformanceCommandOptions): Promise<Answer> {
  const setting = await findService(context);
  const { config, simulator } = setting;
  if (simulator !== undefined && (options.baseUrl ?? options.accountBaseUrl) !== undefined)
    throw badInput(
      'A simulator runs, and its lanes have invented credentials. Stop `volley up --simulator`, or leave out --base-url.',
    );
  const wanted = await testOptions(context, config, options);
  if (simulator !== undefined) context.note('A simulator stands in for the service.');
  const interrupt = listenForStop();
  try {
    await consent(context, wanted, options.yes === true, interrupt.signal);
    return await withVolley(context, setting, async (volley) => {
      const checks: ConformanceCheck[] = [];
      const ways: ConformanceWay[] = [];
      const write = (lines: readonly string[]): void => {
        if (!context.json) context.stdout.write(`${lines.join('\n')}\n`);
      };
      const width = columnsOf(context.stdout);
      for await (const result of volley.conformance({ ...wanted, signal: interrupt.signal })) {
        if (result.kind === 'check') {
          checks.push(result);
          write(renderCheck(result, context.paint, width));
        } else {
          if (ways.length === 0) write(['', 'What the documentation of the service does not show:']);
          ways.push(result);
          write(renderWay(result, context.paint, width));
        }
      }
      if (interrupt.signal.aborted)
        throw new CliError('interrupted', 'Interrupted. What the test created is deleted.');
      return answer(checks, ways);
    });
  } finally {
    interrupt.dispose();
  }
}

async function testOptions(
  context: Context,
  config: Config,
  options: ConformanceCommandOptions,
): Promise<ConformanceOptions> {
  const { lane, profile, baseUrl, accountBaseUrl, request: id, login, subscribe, listen } = options;
  const sender = options.sender ?? config.senderAddress;
  if (sender === undefined && (id !== undefined || options.to !== undefined))
    throw badInput('There is no sender: use --sender, or set SENDER_ADDRESS.');
  return {
    lane,
    profile,
    baseUrl,
    accountBaseUrl,
    login,
    ...(id !== undefined && sender !== undefined && { request: { id, sender } }),
    ...(subscribe !== undefined && { subscribe: { url: subscribe } }),
    ...(listen !== undefined && { listen: { url: listen } }),
    send: await messageOf(context, config, options, sender),
  };
}

async function messageOf(
  context: Context,
  { defaultCountry }: Config,
  { to, message: text, correlator, twice, listen }: ConformanceCommandOptions,
  sender: string | undefined,
): Promise<ConformanceSend | undefined> {
  if (to === undefined) {
    const without = [
      ['--message', text],
      ['--correlator', correlator],
      ['--twice', twice],
      ['--listen', listen],
    ].find(([, value]) => value !== undefined);
    if (without === undefined) return undefined;
    throw badInput(`${without[0]} belongs to a message: give its recipient with --to.`);
  }
  const numbers = (await readNumbers(context, [...to])).map((number) => {
    const read = numberReader(defaultCountry)(number);
    if (!read.ok) throw badInput(`option '--to <number>': ${withOptions(read.reason)}.`);
    return read.number;
  });
  return { to: numbers, sender: sender ?? '', text, correlator, twice };
}

/** Asks before anything is written at the service. */
async function consent(
  context: Context,
  { send, subscribe, listen, login }: ConformanceOptions,
  isGiven: boolean,
  signal: AbortSignal,
): Promise<void> {
  const count = send?.twice === true ? 'one or two messages' : 'a message';
  const callback = subscribe?.url ?? listen?.url;
  const writes = [
    ...(send === undefined ? [] : [`send ${count} to ${recipientsOf(send).join(', ')} from ${send.sender}`]),
    ...(callback === undefined ? [] : [`create a subscription with ${callback} and delete it`]),
    ...(login === true ? ['log in to the account'] : []),
  ];
  if (writes.length === 0 || isGiven) return;
  const what = writes.join(', and ');
  if (!context.interactive)
    throw badInput(
      `This is not a terminal, so Volley cannot ask whether to ${what}. Add --yes to do it without a question.`,
    );
  const capital = what.charAt(0).toUpperCase() + what.slice(1);
  await mustConfirm(context, `${capital}?`, { consequence: NOTHING_DONE, signal });
}

function answer(checks: readonly ConformanceCheck[], ways: readonly ConformanceWay[]): Answer {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { result } of checks) counts[result] += 1;
  const { passed, failed, skipped } = counts;
  // A test that could not ask anything has not shown that the service conforms.
  const isConforming = failed === 0 && passed > 0;
  const bare = ({ kind: _, ...result }: ConformanceCheck | ConformanceWay): object => result;
  return {
    json: { ok: isConforming, ...counts, checks: checks.map(bare), ways: ways.map(bare) },
    lines: ['', `${passed} passed, ${failed} failed, ${skipped} skipped.`],
    exit: isConforming ? EXIT.done : EXIT.failed,
  };
}

/** Columns before the name of a check. */
const INDENT = 6;
const WORD = { passed: 'ok', failed: 'fail', skipped: 'skip' } as const;
const INK = { passed: 'green', failed: 'red', skipped: 'yellow' } as const;

function renderCheck(
  { name, section, result, expected, found }: ConformanceCheck,
  paint: Paint,
  width: number | undefined,
): string[] {
  const title = wrapped(`${paint(INK[result], padded(WORD[result], 4))}  ${section}: ${name}`, width, INDENT);
  if (result === 'failed')
    return [
      ...title,
      ...indented(`expected  ${expected}`, width, 10),
      ...indented(`found     ${found}`, width, 10),
    ];
  return [...title, ...indented(paint('dim', found), width)];
}

function renderWay(
  { topic, found, advice }: ConformanceWay,
  paint: Paint,
  width: number | undefined,
): string[] {
  // What was not seen says how to see it; what was seen, which setting follows.
  if (found === null) return indented(`${topic}: not seen. ${advice ?? ''}`.trimEnd(), width, 2);
  const lines = indented(`${topic}: ${found}`, width, 2);
  return advice === null ? lines : [...lines, ...indented(`${paint('dim', '→')} ${advice}`, width, 2)];
}

function indented(text: string, width: number | undefined, hanging = 0): string[] {
  const margin = ' '.repeat(INDENT);
  return wrapped(text, width === undefined ? undefined : width - INDENT, hanging).map(
    (line) => `${margin}${line}`,
  );
}
