import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeActor } from '../../../campaign/states/actor.js';
import type { SuppressionOperation } from '../../../campaign/states/suppression.js';
import type { SuppressionEntry } from '../../../intake/import/suppression-list.js';
import * as operations from '../../../operations/rows/suppressions.js';
import { addedText } from '../../../operations/words.js';
import type { Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { readNumbers, STDIN } from '../files/input.js';
import { tableOf, timeText } from '../output/table.js';
import { counted, cut, explanation, grouped, oneLine } from '../output/text.js';
import type { Answers, Questions, Scene, Typed } from './answer.js';

/** The numbers may come from standard input: then `ps` and the history of the shell do not show them. */
const typed: Typed = {
  async addSuppressions(given: { readonly numbers: readonly string[] }, context) {
    const file = given.numbers.find(
      (one) => !/^[+\d(]/.test(one) && one !== STDIN && existsSync(resolve(context.cwd, one)),
    );
    if (file !== undefined)
      throw badInput(`This is a file: ${file}. To add the numbers in it: volley suppress import ${file}`);
    return { ...given, numbers: await readNumbers(context, given.numbers) };
  },
  removeSuppressions: async (given: { readonly numbers: readonly string[] }, context) => ({
    ...given,
    numbers: await readNumbers(context, given.numbers),
  }),
  findNumber: readNumber,
  getSuppression: readNumber,
  forgetNumber: readNumber,
};

async function readNumber(given: { readonly number: string }, context: Context) {
  const [number, ...others] = await readNumbers(context, [given.number]);
  if (others.length > 0) throw badInput('Standard input has several numbers. This command takes one.');
  return { ...given, number };
}

const answers: Answers<'Numbers', typeof operations> = {
  async findNumber(run, { context }) {
    const done = await run();
    const { found, suppressions, replies } = done;
    const { clock, stdout } = context;
    return {
      json: done,
      lines: [
        ...tableOf(stdout, found, 'No campaign or outbox contains this number.', {
          CAMPAIGN: ({ campaign, outbox }) => campaign ?? `outbox:${outbox}`,
          NAME: ({ name, message }) => cut(oneLine(name ?? message ?? ''), 24),
          STATUS: ({ status }) => status,
          REFERENCE: ({ reference }) => reference,
          REQUEST: ({ requestId }) => requestId,
          SENT: ({ sentAt }) => timeText(sentAt, clock()),
          UPDATED: ({ updatedAt }) => timeText(updatedAt, clock()),
          REASON: explanation,
        }),
        ...listsLines(context, suppressions),
        ...replies.map(
          ({ receivedAt, campaignName: name, text }) =>
            `Reply${name === null ? '' : ` to ${oneLine(name)}`}, ${timeText(receivedAt, clock())}: ${oneLine(text)}`,
        ),
      ],
    };
  },

  listSuppressions: {
    async after({ volley, input: { lane } }, count) {
      if (count > 0) return { json: {}, lines: [] };
      if (lane !== undefined) return { json: {}, lines: [`No number is suppressed on lane ${lane} alone.`] };
      const { operations: changes } = await volley.suppression.operations();
      const lanes = [...new Set(changes.flatMap((each) => each.lane ?? []))];
      const others = lanes.map((name) => `For lane ${name}, see: volley suppress list --lane ${name}`);
      return { json: {}, lines: ['No number is suppressed on all lanes.', ...others] };
    },
  },

  async getSuppression(run, { context }) {
    const done = await run();
    return { json: done, lines: listsLines(context, done.lists) };
  },

  async addSuppressions(run, { input: { numbers } }) {
    const done = await run();
    const known = [...numbers].length - done.numberCount;
    return { json: done, lines: [addedText(done.numberCount, known, '', done.operation)] };
  },

  async removeSuppressions(run, { input: { numbers } }) {
    const done = await run();
    const where = done.lane === null ? 'the list for all lanes' : `the list of lane ${done.lane}`;
    const [, ...others] = numbers;
    const none = others.length === 0 ? 'The number is not' : 'None of the numbers is';
    const line =
      done.operation === null
        ? `${none} on ${where}, so nothing has changed.`
        : `${counted(done.numberCount, 'number')} removed. To undo it: volley suppress undo ${done.operation}`;
    return { json: done, lines: [line] };
  },

  listSuppressionOperations(found, { context }) {
    return changesTable(context, found, 'The suppression lists were never changed.');
  },

  async undoSuppressionOperation(run, { volley, input: { id } }) {
    const { change } = await volley.suppression.operation(id);
    const done = await run();
    const what = change === 'add' ? 'taken off the list' : 'put back on the list';
    return {
      json: done,
      lines: [`Operation ${id} is undone: ${counted(done.numberCount, 'number')} ${what}.`],
    };
  },
};

/** On which lists a number is, and why. */
function listsLines(context: Context, lists: readonly SuppressionEntry[]): string[] {
  const kept = lists.filter(({ forgotten }) => forgotten);
  const changes = lists.flatMap(({ operations }) => operations);
  return [
    ...(changes.length === 0 ? [] : ['It is suppressed:']),
    ...(changes.length === 0 && kept.length > 0
      ? []
      : changesTable(context, changes, 'It is not suppressed.')),
    ...kept.map(
      ({ lane, since }) =>
        `It was forgotten ${timeText(since, context.clock())}, and stays suppressed for ${lane === null ? 'all lanes' : `lane ${lane}`}.`,
    ),
  ];
}

/** Changes of the lists. */
function changesTable(
  { clock, stdout }: Context,
  changes: readonly SuppressionOperation[],
  none: string,
): string[] {
  return tableOf(stdout, changes, none, {
    ID: ({ id }) => id,
    CHANGE: ({ change, undone }) => (undone === null ? change : `${change}, undone`),
    NUMBERS: ({ numberCount }) => grouped(numberCount),
    LIST: ({ lane }) => lane ?? 'all lanes',
    TIME: ({ createdAt }) => timeText(createdAt, clock()),
    ACTOR: ({ actor }) => describeActor(actor),
    SOURCE: ({ source }) => source,
    REASON: ({ reason }) => reason,
  });
}

const questions: Questions = {
  forgetNumber: async ({
    input: { number, lane },
  }: Scene<{ readonly number: string; readonly lane?: string }>) =>
    `Cancel what is planned for ${number}, and erase it ${lane === undefined ? 'everywhere' : `on lane ${lane}`}? This cannot be undone.`,
};

export { answers, operations, questions, typed };
