import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Outbox } from '../../../app/volley.js';
import type { LocalConfig } from '../../../base/config/index.js';
import { EXIT } from '../../../base/exit-codes.js';
import type { ErrorItem } from '../../../campaign/errors/error-codes.js';
import { rowProblem } from '../../../campaign/errors/error-item.js';
import { listed } from '../../../campaign/errors/listed.js';
import { fieldsFrom } from '../../../campaign/fields/field-sets.js';
import { BULK_OUTCOMES, type OutboxChange } from '../../../campaign/views/outbox-views.js';
import { fieldText } from '../../../operations/words.js';
import { requireTerminal } from '../answers/run-operation.js';
import { mustConfirm } from '../context/ask.js';
import type { Answer, Context } from '../context/context.js';
import { openListFile } from '../files/input.js';
import type { CampaignFlags } from '../flags/campaign-flags.js';
import { destinationOf, via } from '../open/destination.js';
import { type Setting, withLocalVolley } from '../open/open.js';
import { counted, grouped, oneLine } from '../output/text.js';

interface OutboxOptions {
  lane?: string | undefined;
}

/** Invalid lines that people see; `--json` has the first 100. */
const INVALID_SHOWN = 20;
const INVALID_LISTED = 100;

/** Opens Volley for a command on an outbox. Several lanes may have one of a name; `--lane` says which is meant. */
function withOutbox<Result>(
  context: Context,
  name: string,
  { lane }: OutboxOptions,
  use: (outbox: Outbox, setting: Setting<LocalConfig>) => Promise<Result>,
): Promise<Result> {
  return withLocalVolley(context, (volley, setting) =>
    use(volley.outbox(name, { lanes: lane === undefined ? undefined : [lane] }), setting),
  );
}

interface SetFlags extends Partial<CampaignFlags<'outbox'>> {
  sendRule?: string;
  zone?: string;
  late?: string;
  value?: Readonly<Record<string, string>>;
  preview?: boolean;
  yes?: boolean;
}

/** `volley outbox set` */
export function set(context: Context, name: string, options: SetFlags): Promise<Answer> {
  const { sendRule, zone, late, window, value: values, preview, yes, lane } = options;
  if (preview !== true && yes !== true) requireTerminal(context, 'change the outbox');
  return withOutbox(context, name, { lane }, async (outbox) => {
    const changes = {
      ...fieldsFrom('outbox', { ...options, lane: undefined }),
      ...{ sendRule, zone, late, window },
    };
    const expected = await outbox.previewSet(changes, { values });
    const { changed, unfit } = expected;
    if (changed.length === 0)
      return { json: expected, lines: [`Outbox ${name} has these settings already.`] };
    const lines = effectLines(expected);
    if (preview === true)
      return {
        json: expected,
        lines: [`Outbox ${name} would get another ${listed(changed.map(fieldText))}.`, ...lines],
        ...(unfit.length === 0 ? {} : { exit: EXIT.badInput }),
      };
    if (yes !== true && unfit.length === 0) {
      for (const line of lines) context.note(line);
      const question = `Change the ${listed(changed.map(fieldText))} of outbox ${name}, for ${counted(expected.waiting, 'waiting message')} too?`;
      await mustConfirm(context, question, { consequence: 'nothing was changed' });
    }
    const done = await outbox.set(changes, { values });
    const first = `Outbox ${name} has another ${listed(done.changed.map(fieldText))}. No waiting message is sent as before.`;
    return { json: done, lines: [first, ...effectLines(done)] };
  });
}

/** What a change does to the messages that wait. */
function effectLines({ waiting, moved, dueNow, lapsing, unfit }: OutboxChange): string[] {
  const rows: [number, string][] = [
    [waiting, 'waiting'],
    [moved, 'of them at another time'],
    [dueNow, 'of them due at once'],
    [lapsing, 'of them lapse, because it is too late'],
  ];
  return [
    ...rows.flatMap(([count, what]) => (count === 0 ? [] : [`  ${grouped(count)} ${what}`])),
    ...unfit.map(
      ({ member, reason, messageCount, ids }) =>
        `  ${grouped(messageCount)} cannot be sent: \`${oneLine(member)}\` ${oneLine(reason)} (${oneLine(ids.join(', '))})`,
    ),
  ];
}

/** `volley outbox import` */
export async function importList(
  context: Context,
  name: string,
  file: string,
  { idColumn, toColumn, lane }: OutboxOptions & { idColumn: string; toColumn?: string },
): Promise<Answer> {
  const { csv } = await openListFile(context, file);
  const list = await listOfFile(csv);
  return withOutbox(context, name, { lane }, async (outbox, setting) => {
    const counts = Object.fromEntries(BULK_OUTCOMES.map((outcome) => [outcome, 0]));
    /** The same, with the reasons of those that were refused. */
    const detailed: Record<string, number> = {};
    const errors: ErrorItem[] = [];
    /** What is wrong first with each of the first invalid messages. */
    const listed: ErrorItem[] = [];
    const warnings: string[] = [];
    let [lines, invalid] = [0, 0];
    for await (const result of outbox.import(list, { idColumn, toColumn })) {
      lines += 1;
      warnings.push(...result.warnings);
      const { outcome, code } = result;
      const isInvalid = code === 'badInput' || code === 'opensTooLate';
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      const shown = isInvalid ? 'invalid' : (code ?? outcome);
      detailed[shown] = (detailed[shown] ?? 0) + 1;
      if (isInvalid) {
        invalid += 1;
        if (listed.length < INVALID_SHOWN) listed.push(...result.errors.slice(0, 1));
      }
      if (errors.length < INVALID_LISTED) errors.push(...result.errors);
    }
    const summary = Object.entries(detailed).map(([outcome, count]) => `${grouped(count)} ${outcome}`);
    const { lane: itsLane } = await outbox.status();
    const destination = destinationOf(setting, itsLane);
    const json = { destination, messageCount: lines, counts, errors, warnings };
    const more = invalid - listed.length;
    return {
      json,
      lines: [
        `${counted(lines, 'message')}${via(destination)}${summary.length === 0 ? '' : `: ${summary.join(', ')}`}`,
        ...listed.map(({ line, column, message }) => {
          const at = column === null ? null : oneLine(column);
          return `  ${rowProblem({ line, column: at, message: oneLine(message) })}`;
        }),
        ...(more > 0 ? [`  and ${counted(more, 'more')}`.replace(/mores$/, 'more')] : []),
        ...warnings.slice(0, INVALID_SHOWN).map(oneLine),
      ],
      ...(invalid === 0 ? {} : { exit: EXIT.badInput }),
    };
  });
}

/** The list by its first character: a CSV file begins with the name of a column. Reads nothing of it. */
async function listOfFile(
  list: Readable,
): Promise<{ csv: Readable } | { ndjson: Readable } | { json: Readable }> {
  await once(list, 'readable');
  const start: unknown = list.read();
  if (start === null) return { csv: list };
  list.unshift(start);
  const [, first] = /^\ufeff?\s*(\S)/.exec(String(start)) ?? [];
  if (first === '[') return { json: list };
  return first === '{' ? { ndjson: list } : { csv: list };
}
