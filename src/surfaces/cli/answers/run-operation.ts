import { pipeline } from 'node:stream/promises';
import type { Volley } from '../../../app/volley.js';
import type { LocalConfig } from '../../../base/config/index.js';
import { EXIT } from '../../../base/exit-codes.js';
import { ERROR_CODES } from '../../../campaign/errors/error-codes.js';
import { jsonText } from '../../../campaign/text/visible-text.js';
import { admit } from '../../../operations/access.js';
import type { OperationCommand } from '../../../operations/command-table.js';
import {
  type Feed,
  flagName,
  type Hooks,
  isThere,
  type Operation,
  oneObject,
  type Page,
  type Rows,
} from '../../../operations/operation.js';
import { Refused } from '../../../operations/outcomes.js';
import { doneOf } from '../../../operations/words.js';
import { mustConfirm } from '../context/ask.js';
import type { Answer, Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { outputFile } from '../files/output-file.js';
import { campaignId, keyId, recordsId, scheduleId, webhookId } from '../open/campaign-id.js';
import { onlyLane } from '../open/only-lane.js';
import { withLocalVolley } from '../open/open.js';
import { suppressionId } from '../open/suppression-id.js';
import { OPERATION_COMMANDS } from '../output/operation-commands.js';
import { counted, oneLine } from '../output/text.js';
import type { Opener, Questions, Scene, Typed } from './answer.js';

/*
 * Runs the operation of a command, and returns its answer. What people read is in answers/.
 */

/** The operations with a tag, and what people read about them. Each loads when one of its commands is called. */
const GROUPS: Readonly<Record<string, () => Promise<Group>>> = {
  Campaigns: () => import('./campaigns.js'),
  Lanes: () => import('./lanes.js'),
  Tokens: () => import('./token.js'),
  Subscriptions: () => import('./subscription.js'),
  Outboxes: () => import('./outboxes.js'),
  Templates: () => import('./templates.js'),
  Schedules: () => import('./schedules.js'),
  Numbers: () => import('./suppressions.js'),
  Replies: () => import('./inbound.js'),
  'API keys': () => import('./keys.js'),
  Operation: () => import('./audit.js'),
  Webhooks: () => import('./webhooks.js'),
  'Call records': () => import('./records.js'),
};

interface Group {
  readonly operations: object;
  readonly answers: object;
  readonly typed?: Typed;
  readonly questions?: Questions;
  /** How a command opens Volley; default: {@link withLocalVolley}. `typed`: the input of its operation. */
  readonly opener?: (name: string, typed: Readonly<Record<string, unknown>>) => Opener;
}

/** Where the rows of an operation go. */
interface FileOptions {
  readonly out?: string | undefined;
  readonly force?: boolean | undefined;
}

/** How a command writes rows, if not as its operation does. */
export interface RowsFormat {
  /** For programs. */
  readonly name: string;
  text(rows: AsyncIterable<unknown>, scene: Scene<unknown>): AsyncIterable<string>;
  /** What people read when the rows have been written. */
  lines(): readonly string[];
}

/** `args`: what commander passes to the action of a command: its arguments, and its options. */
export async function runOperation(
  context: Context,
  { name, tag, usage, flags }: OperationCommand,
  args: readonly unknown[],
  format?: RowsFormat,
): Promise<Answer | undefined> {
  const group: Partial<Group> = (await GROUPS[tag]?.()) ?? {};
  const { operations, answers, typed: reads, questions, opener } = group;
  const operation: Operation = Object(operations)[name];
  const answer: unknown = Object(answers)[name];
  const names = [...usage.matchAll(/[<[]([\w-]+)(?:\.{3})?[>\]]/g)].map(([, argument = '']) =>
    argument.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  );
  const { yes, json: _json, ...options }: Record<string, unknown> = Object(args[names.length]);
  const { out, force, ...others }: FileOptions & Record<string, unknown> = options;
  const given = operation.kind === 'rows' ? others : options;
  const written = { ...given, ...Object.fromEntries(names.map((each, at) => [each, args[at]])) };
  const asks = flags.some((flag) => flag.flags.endsWith('--yes')) && yes !== true;
  if (asks) requireTerminal(context, usage.replace(/ [<[].*/, '').replace(/.* /, ''));
  const write =
    operation.kind === 'rows'
      ? await writerOf(context, written, { out, force }, { name, format })
      : undefined;
  const read = await reads?.[name]?.(written as never, context);
  const typed = read ?? written;
  const opening = { typed, isRead: read !== undefined, open: opener?.(name, typed) };
  return perform(context, operation, opening, async (scene, hooks) => {
    const { volley, input } = scene;
    const question = asks ? await questions?.[name]?.(scene as never) : null;
    if (question) await mustConfirm(context, question, { consequence: 'nothing was changed' });
    switch (operation.kind) {
      case 'rows':
        return write?.(operation, operation.run(volley, input, hooks), scene, answer as RowsAnswer);
      case 'page': {
        const { items, nextCursor } = await itemsOf(operation, scene, hooks, given);
        return {
          json: { [operation.member]: items, nextCursor },
          lines: context.json ? [] : await (answer as PageAnswer)(items, scene, nextCursor),
        };
      }
      case 'feed':
        throw new TypeError('no command follows events');
      default:
        return answer === undefined
          ? plainAnswer(name, await resultOf(operation, scene, hooks), input)
          : (answer as CallAnswer)((members) => resultOf(operation, scene, hooks, members), scene);
    }
  });
}

/** What people read about an operation that is the same on every surface, and the command that takes it back. */
function plainAnswer(name: string, output: unknown, input: object): Answer {
  const { text = () => '', back } = doneOf(name) ?? {};
  return {
    json: Object(output),
    lines: [`${text(output, input)}${back === undefined ? '' : howTo(back, input)}`],
  };
}

/** ` To resume it: volley resume ID` */
function howTo(back: string, input: object): string {
  const { usage = '', summary = '' } = OPERATION_COMMANDS.find(({ name }) => name === back) ?? {};
  const { id, name = id, lane } = Object(input);
  const command = `${usage.replace(/ <.*/, '')} ${name}${lane === undefined ? '' : ` --lane ${lane}`}`;
  return ` To ${summary.replace(/ .*/, '')} it: volley ${command}`;
}

/** Throws if the command cannot ask before it runs. `word`: the command without its arguments. */
export function requireTerminal({ interactive }: Context, word: string): void {
  if (interactive) return;
  throw badInput(
    `This is not a terminal, so Volley cannot ask for confirmation. Add --yes to ${word} without a question.`,
  );
}

interface Opening {
  readonly typed: Readonly<Record<string, unknown>>;
  /** Whether the group has made the input of what was typed: the library then says best what is wrong with it. */
  readonly isRead?: boolean;
  readonly open?: Opener | undefined;
}

/** Opens Volley for an operation, and reads its input. An operation that refuses ends with the exit code of its outcome. */
function perform<Result>(
  context: Context,
  operation: Operation,
  { typed, isRead = false, open = withLocalVolley }: Opening,
  use: (scene: Scene<never>, hooks: Hooks) => Promise<Result>,
): Promise<Result | Answer> {
  return open(context, async (volley, setting, signal) => {
    const meant = withLane(operation, volley, setting.config, typed);
    const given = await inputOf(operation, volley, meant, isRead);
    const { input, lanes, found } = await admit<never>(operation.access, null, volley, given as never);
    try {
      const scene = { context, volley, setting, input, lanes };
      return await use(scene, { lanes, found, signal });
    } catch (error) {
      if (!(error instanceof NotDone)) throw error;
      const { code, message, detail } = error.refused;
      const [, exit] = ERROR_CODES[code];
      return { json: Object(detail), lines: [oneLine(message)], exit: EXIT[exit] };
    }
  });
}

/** Ends an action whose operation did not do what was asked. */
class NotDone extends Error {
  readonly refused: Refused;

  constructor(refused: Refused) {
    super(refused.message);
    this.refused = refused;
  }
}

async function resultOf(
  operation: Exclude<Operation, Page | Rows | Feed>,
  { volley, input }: Scene<never>,
  hooks: Hooks,
  members: object = {},
): Promise<unknown> {
  const result = await operation.run(volley, { ...Object(input), ...members }, hooks);
  if (result instanceof Refused) throw new NotDone(result);
  return result;
}

/** The items of as many pages as people see, all without a limit, and where the next one begins. */
async function itemsOf(
  { run, limit: { max } }: Page,
  { volley, input }: Scene<never>,
  hooks: Hooks,
  given: { readonly limit?: number; readonly cursor?: string },
): Promise<{ readonly items: readonly unknown[]; readonly nextCursor: string | null }> {
  const { limit = Number.POSITIVE_INFINITY } = given;
  const items: unknown[] = [];
  for (let { cursor } = given; ; ) {
    const members = { ...Object(input), limit: Math.min(max, limit - items.length), cursor };
    const { items: more, nextCursor } = await run(volley, members, hooks);
    items.push(...more);
    if (nextCursor === null || items.length >= limit) return { items, nextCursor };
    cursor = nextCursor;
  }
}

type CallAnswer = (run: (members?: object) => Promise<unknown>, scene: Scene<never>) => Promise<Answer>;

type PageAnswer = (
  items: readonly unknown[],
  scene: Scene<never>,
  nextCursor: string | null,
) => readonly string[] | Promise<readonly string[]>;

interface RowsAnswer {
  readonly after?: (
    scene: Scene<never>,
    count: number,
  ) => Promise<{ json: object; lines: readonly string[] }>;
}

/** What was typed, with the lane that the command means if none was. */
function withLane(
  { cli }: Operation,
  volley: Volley,
  { lanes }: LocalConfig,
  typed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const which = isThere(cli) ? cli.lane : undefined;
  if (which === undefined || typed['lane'] !== undefined) return typed;
  return { ...typed, lane: onlyLane(volley, lanes, which) };
}

/** The arguments and flags that name an object whose id people may shorten. */
const WHOLE_IDS: Readonly<
  Record<
    string,
    (volley: Volley, typed: string, lane: string | undefined) => Promise<{ readonly id: string }>
  >
> = {
  campaign: async (volley, typed) => ({ id: await campaignId(volley, typed) }),
  key: async (volley, typed) => ({ id: await keyId(volley, typed) }),
  schedule: scheduleId,
  webhook: async (volley, typed) => ({ id: await webhookId(volley, typed) }),
  'request for call records': async (volley, typed) => ({ id: await recordsId(volley, typed) }),
  'suppression operation': async (volley, typed) => ({ id: await suppressionId(volley, typed) }),
};

/** The input of an operation, as its schema reads it. An argument may have the name of the object instead of its member. */
async function inputOf(
  { access, cli, input, kind }: Operation,
  volley: Volley,
  typed: Readonly<Record<string, unknown>>,
  isRead: boolean,
): Promise<unknown> {
  const { limit, cursor, ...members } = typed;
  const given: Record<string, unknown> = kind === 'page' ? members : { ...typed };
  if (access.rule === 'object') {
    const { what, member } = access;
    const { [what]: named = given[member], lane } = given;
    delete given[what];
    const whole = await WHOLE_IDS[what]?.(volley, String(named), lane as string | undefined);
    Object.assign(given, { [member]: named }, whole);
  }
  for (const [name, flag] of Object.entries(isThere(cli) ? (cli.flags ?? {}) : {})) {
    const [find, named] = [WHOLE_IDS[name], given[name]];
    if (flag?.value !== 'id' || find === undefined || typeof named !== 'string') continue;
    given[name] = (await find(volley, named, undefined)).id;
  }
  const { data, error } = input.safeParse(given);
  if (error === undefined) return data;
  if (isRead) return given;
  const [issue] = error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown].map(String);
  const what = unknown.length > 0 ? 'there is no such field' : (issue?.message ?? 'it is invalid');
  const [member = ''] = path;
  if (!isThere(cli) || !Object.hasOwn(cli.flags ?? {}, member))
    throw badInput(`${path.join('.') || 'The input'}: ${what}`);
  const value = path.reduce<unknown>((whole, step) => Object(whole)[step], given);
  const shown = typeof value === 'string' || typeof value === 'number' ? `'${value}' of ` : 'of ';
  const about = /^(?:must|is|has)\b/.test(what) ? `It ${what}` : what;
  throw badInput(`The value ${shown}${flagName(member)} is not valid. ${about}`);
}

/** Files of spreadsheet programs. */
const WORKBOOK = /\.(?:xls[xmb]?|ods|numbers)$/i;

/** Means standard output instead of a file. */
const STDOUT = '-';

/** Writes rows to standard output, or to a new file with `--out`. Returns the answer, unless the rows are the answer. */
async function writerOf(
  { json, stdout, cwd }: Context,
  { format }: Readonly<Record<string, unknown>>,
  { out = STDOUT, force = false }: FileOptions,
  { name, format: own }: { readonly name: string; readonly format: RowsFormat | undefined },
) {
  if (json && out === STDOUT && (format !== undefined || own !== undefined)) {
    throw badInput(
      `--json and --${own?.name ?? 'format'} do not go together: --json prints one JSON object. Leave out one of them.`,
    );
  }
  const workbook = WORKBOOK.exec(out)?.[0];
  if (workbook !== undefined) {
    const text = `${out.slice(0, -workbook.length)}.csv`;
    const advice = name === 'getReport' ? ', with --excel for a file that Excel opens by a double click' : '';
    throw badInput(`Volley cannot write ${workbook} files. Use --out ${text}${advice}.`);
  }
  const file = out === STDOUT ? undefined : await outputFile(out, { cwd, force });
  return async (
    { text, access, member = 'rows' }: Rows,
    rows: AsyncIterable<unknown>,
    scene: Scene<never>,
    { after = async () => ({ json: {}, lines: [] }) }: RowsAnswer,
  ): Promise<Answer | undefined> => {
    const { context, input } = scene;
    let count = 0;
    const counting = async function* () {
      for await (const row of rows) {
        count += 1;
        yield row;
      }
    };
    const written = own === undefined ? text(counting(), input, scene.volley) : own.text(counting(), scene);
    if (file === undefined) {
      const rest = async () => (await after(scene, count)).json;
      await pipeline(json ? asJson(member, counting(), rest) : written, stdout, { end: false });
      if (!json)
        for (const line of [...(own?.lines() ?? []), ...(await after(scene, count)).lines])
          context.note(line);
      return undefined;
    }
    await file(written);
    const { json: more, lines } = await after(scene, count);
    const subject = access.rule === 'object' ? { [access.member]: Object(input)[access.member] } : {};
    return {
      json: { ...subject, file: out, format: own?.name ?? Object(input).format, rows: count, ...more },
      lines: [`Wrote ${counted(count, 'row')} to ${out}.`, ...(own?.lines() ?? []), ...lines],
    };
  };
}

async function* asJson(...[member, rows, rest]: [string, AsyncIterable<unknown>, () => Promise<object>]) {
  yield* oneObject(member, rows, jsonText, rest);
  yield '\n';
}
