import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../../base/config/file-problem.js';
import { readSettings } from '../../../base/config/read-settings.js';
import { ask } from '../context/ask.js';
import type { Answer, Context } from '../context/context.js';
import { badInput, CliError } from '../context/errors.js';
import { fileProblem, PRIVATE } from '../files/output-file.js';
import { packageFile, pasteable } from '../output/command-name.js';
import { columnsOf } from '../output/terminal.js';
import { wrapped } from '../output/text.js';

const FILE = '.env';
const SECRET_BYTES = 32;
/** What a user types instead of an answer to go back to the question before. */
const BACK = '<';

/** A setting that most installations need, in the order of the questions. */
interface Question {
  readonly setting: string;
  readonly text: string;
  readonly isSecret?: true;
  readonly isRequired?: true;
  /** Asked only with, or only without, this answer. */
  readonly onlyWith?: string;
  readonly onlyWithout?: string;
}

const QUESTIONS: readonly Question[] = [
  {
    setting: 'MESSAGING_BASE_URL',
    text: 'Address of the messaging service, such as https://host.example/smsmessaging/v1',
    isRequired: true,
  },
  { setting: 'API_KEY', text: 'API key (empty: use an account with a password)', isSecret: true },
  { setting: 'ACCOUNT_USERNAME', text: 'User name of the account', isRequired: true, onlyWithout: 'API_KEY' },
  {
    setting: 'ACCOUNT_PASSWORD',
    text: 'Its password',
    isSecret: true,
    isRequired: true,
    onlyWith: 'ACCOUNT_USERNAME',
  },
  { setting: 'HOURLY_QUOTA', text: 'Requests per hour that it may make (empty: learn it)' },
  { setting: 'SENDER_ADDRESS', text: 'Sender of campaigns that name none (empty: none)' },
  { setting: 'DEFAULT_COUNTRY', text: 'Country of numbers in national format, such as GB (empty: none)' },
  { setting: 'REDIS_URL', text: 'Address of Redis (empty: `volley up` runs one on this machine)' },
];

/** `volley init` */
export async function init(context: Context, { force = false }: { force?: boolean }): Promise<Answer> {
  const path = join(context.cwd, FILE);
  if (!context.interactive) {
    throw badInput(
      `\`volley init\` asks questions, so it needs a terminal. Without one, copy ${packageFile('.env.example', context.cwd)} to .env and fill it in.`,
    );
  }
  context.note(
    `Press Enter to leave a setting out. To correct an answer, type ${BACK}: the question before is asked again. You can change all of them in .env later.`,
  );
  const answers = await answersTo(context, QUESTIONS);
  if (answers.has('ACCOUNT_USERNAME'))
    answers.set('SECRETS_KEY', randomBytes(SECRET_BYTES).toString('base64'));
  const lines = [...answers].map(([name, value]) => `${name}=${quoted(value)}\n`);
  const text = `# Settings of Volley. See .env.example in its package, or the help of each command.\n${lines.join('')}`;
  try {
    await writeFile(path, text, { mode: PRIVATE, flag: force ? 'w' : 'wx' });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw fileProblem(error, path);
    throw new CliError('fileExists', `The file ${path} exists already. To overwrite it, add --force.`, {
      path,
    });
  }
  return {
    json: { file: path, settings: [...answers.keys()] },
    lines: [`Wrote ${path}, which only you can read.`, 'To check it: volley doctor', 'To start: volley up'],
  };
}

/** The settings, in the order of their questions. */
async function answersTo(context: Context, questions: readonly Question[]): Promise<Map<string, string>> {
  const given: { readonly setting: string; readonly value: string }[] = [];
  const answerOf = (wanted: string): string => given.find(({ setting }) => setting === wanted)?.value ?? '';
  const isAsked = ({ setting, onlyWith, onlyWithout }: Question): boolean =>
    !given.some((answer) => answer.setting === setting) &&
    (onlyWith === undefined || answerOf(onlyWith) !== '') &&
    (onlyWithout === undefined || answerOf(onlyWithout) === '');
  for (let next = questions.find(isAsked); next !== undefined; next = questions.find(isAsked)) {
    const value = await answerTo(context, next);
    if (value !== BACK) given.push({ setting: next.setting, value });
    else if (given.pop() === undefined) context.note('This is the first question.');
  }
  return new Map(given.filter(({ value }) => value !== '').map(({ setting, value }) => [setting, value]));
}

async function answerTo(
  context: Context,
  { setting, text, isSecret, isRequired }: Question,
): Promise<string> {
  for (;;) {
    const lines = wrapped(pasteable(`${text}:`), columnsOf(context.stderr));
    for (const line of lines.slice(0, -1)) context.stderr.write(`${line}\n`);
    const value = await ask(context, `${lines.at(-1)} `, {
      consequence: 'nothing was written',
      ...(isSecret === undefined ? {} : { isSecret }),
    });
    if (value === BACK || (value === '' && isRequired !== true)) return value;
    const { problems, invalid } = readSettings({
      environment: { [setting]: value },
      sources: new Map(),
      problems: [],
    });
    if (value !== '' && !invalid.has(setting as never)) return value;
    const [problem] = value === '' ? [] : problems.filter((each) => each.startsWith(setting));
    context.note(problem ?? 'It is required.');
  }
}

/** A value as `.env` writes it. */
function quoted(value: string): string {
  if (/^[\w@%+=:,./~-]+$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((each) => !value.includes(each)) ?? "'";
  return `${quote}${value}${quote}`;
}
