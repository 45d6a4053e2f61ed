import { accessSync, constants, existsSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPERATION_COMMANDS } from './operation-commands.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** How a process was started, as far as it shows how people call it. */
interface Call {
  /** The program, as the shell named it. */
  readonly program: string;
  readonly env: Environment;
  readonly cwd: string;
}

/** Commands that are no operations. */
const WITHOUT_OPERATION = ['init', 'up', 'work', 'serve', 'simulator', 'doctor', 'conformance', 'completion'];
/** The first words of every command. A test compares them with the commands that exist. */
export const COMMANDS: readonly string[] = [
  ...new Set([...OPERATION_COMMANDS.map(({ usage }) => usage.replace(/ .*/, '')), ...WITHOUT_OPERATION]),
];

/** A command in a text, after a quote or a space, but not as an argument of npx and the like, which may follow a colour code. */
const MENTION = new RegExp(
  `(?<=^|[\\s\`'"(])(?<!(?:npx|exec|yarn|volley|run|--) )volley (?=(?:${COMMANDS.join('|')})\\b|\\[|--)`,
  'gm',
);

/** How to call this program from the shell of the person who called it, such as `npx volley`. */
export function commandName({ program, env, cwd }: Call): string {
  const given = env['VOLLEY_COMMAND']?.trim();
  if (given) return given;
  const isBin = /^volley(?:\.cmd|\.ps1)?$/.test(basename(program));
  if (!isBin && basename(program) !== 'main.js') return 'volley';
  // npm sets these for `npx volley` and `npm run`, pnpm and yarn for their own.
  const agent = env['npm_config_user_agent'] ?? '';
  if (env['npm_lifecycle_event'] === 'volley') return 'npm run volley --';
  if (env['npm_command'] !== undefined || env['npm_lifecycle_event'] !== undefined) {
    if (agent.startsWith('pnpm')) return 'pnpm exec volley';
    return agent.startsWith('yarn') ? 'yarn volley' : 'npx volley';
  }
  if (!isBin) return `node ${inShell(shorter(program, cwd))}`;
  if (isInPath(program, env)) return 'volley';
  return dirname(program).endsWith(join('node_modules', '.bin'))
    ? 'npx volley'
    : inShell(shorter(program, cwd));
}

function isInPath(program: string, env: Environment): boolean {
  return (env['PATH'] ?? '').split(delimiter).includes(dirname(program));
}

function shorter(path: string, cwd: string): string {
  const short = relative(cwd, path);
  if (short.length >= path.length) return path;
  return short.includes('/') || isAbsolute(short) ? short : `./${short}`;
}

function inShell(path: string): string {
  return /^[\w@%+=:,./~-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

let own: string | undefined;

/** A text for people, with every `volley …` that it suggests written so that they can paste it. A second call changes nothing. */
export function pasteable(text: string, name = ownName()): string {
  return name === 'volley' ? text : text.replace(MENTION, () => `${name} `);
}

function ownName(): string {
  own ??= commandName({ program: process.argv[1] ?? '', env: process.env, cwd: process.cwd() });
  return own;
}

/** The path of a file in the folder `examples` of this package, from the folder where the command was called. */
export function exampleFile(name: string, cwd = process.cwd()): string {
  return packageFile(`examples/${name}`, cwd);
}

/** The path of a file of this package, such as `.env.example`, from the folder where the command was called. */
export function packageFile(path: string, cwd = process.cwd()): string {
  // This module is in src/surfaces/cli/output, or in dist/src/surfaces/cli/output.
  const file = ['../../../../', '../../../../../']
    .map((folder) => fileURLToPath(new URL(`${folder}${path}`, import.meta.url)))
    .find((each) => existsSync(each));
  return file === undefined || !isReadable(file) ? path : inShell(shorter(file, cwd));
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
