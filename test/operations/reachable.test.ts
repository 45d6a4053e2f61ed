import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type { OpenAPIV3_1 } from 'openapi-types';
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/operations/index.js';
import { isThere, type Operation } from '../../src/operations/operation.js';
import { createContext } from '../../src/surfaces/cli/context/context.js';
import { createProgram } from '../../src/surfaces/cli/program.js';
import { scene } from '../scene/scene.js';

const { origin } = await scene('operations-reachable').api();
const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;
const { env, stdin, stdout, stderr } = process;
const program = createProgram(
  createContext({ env, cwd: '/', stdin, stdout, stderr, clock: Date.now }, false),
);

const isRow = (member: unknown): boolean =>
  typeof member === 'object' && member !== null && 'http' in member && 'cli' in member;

/** The operations of the HTTP API, as `GET /v1/campaigns/{id}` by their names. */
const routes = new Map(
  Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item ?? {}).map(([method, operation]) => [
      (operation as OpenAPIV3_1.OperationObject).operationId,
      `${method.toUpperCase()} ${path}`,
    ]),
  ),
);

const commandOf = (usage: string): Command | undefined =>
  usage
    .replace(/ [<[].*/, '')
    .split(' ')
    .reduce<Command | undefined>(
      (above, word) => above?.commands.find((each) => each.name() === word),
      program,
    );

/** What is wrong with the places of an operation. */
function unreachable({ name, http, cli }: Pick<Operation, 'name' | 'http' | 'cli'>): string[] {
  const problems: string[] = [];
  if (isThere(http)) {
    const [method, path] = http.split(' ');
    if (routes.get(name) !== `${method} /v1${path}`) problems.push(`${name}: no route ${http}`);
  } else if (!http.because) problems.push(`${name}: no reason why HTTP lacks it`);
  if (isThere(cli)) {
    if (commandOf(cli.usage ?? '') === undefined || !cli.usage) problems.push(`${name}: no command`);
  } else if (!cli.because) problems.push(`${name}: no reason why the command line lacks it`);
  return problems;
}

test('Every operation is reachable over HTTP and on the command line, or its row says why not', () => {
  expect(OPERATIONS.flatMap(unreachable)).toEqual([]);
});

test('An operation without a route, a command, or a reason is found', () => {
  const planted = { name: 'planted', http: 'GET /planted', cli: { usage: 'planted', examples: [] } } as const;
  expect(unreachable(planted)).toEqual(['planted: no route GET /planted', 'planted: no command']);
  const missing = { name: 'planted', http: { because: '' }, cli: JSON.parse('{}') };
  expect(unreachable(missing)).toEqual(['planted: no reason why HTTP lacks it', 'planted: no command']);
});

/** Commands that are no operations, and why. */
const COMMANDS_BY_HAND: Readonly<Record<string, string>> = {
  init: 'it writes the settings of this machine',
  up: 'it runs until it is stopped',
  work: 'it runs until it is stopped',
  serve: 'it runs until it is stopped',
  simulator: 'it runs until it is stopped, without Redis',
  doctor: 'it tests this machine, also when Redis does not respond',
  conformance: 'it tests a service, without Redis',
  'suppress import': 'it reads a file, and does what `suppress add` does',
  completion: 'it prints a script for the shell',
  'schedule set': 'it says which command changes a schedule',
};

const unlisted = (names: readonly string[], ...lists: readonly (readonly string[])[]): string[] =>
  names.filter((name) => !lists.flat().includes(name));

// Health and metrics are not below /v1: they belong to the server, not to a client.
test('Every route below /v1 has a row', () => {
  const names = [...routes].flatMap(([name = '', route]) => (route.includes(' /v1/') ? [name] : []));
  const rows = OPERATIONS.filter(({ http }) => isThere(http)).map(({ name }) => name);
  expect(unlisted(names, rows)).toEqual([]);
});

test('Every command has a row, or a reason why it is none', () => {
  const leaves = (command: Command): string[] =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.flatMap((each) => leaves(each).map((name) => `${command.name()} ${name}`));
  const names = program.commands.flatMap(leaves);
  const rows = OPERATIONS.flatMap(({ cli }) => (isThere(cli) ? [cli.usage.replace(/ [<[].*/, '')] : []));
  const byHand = Object.keys(COMMANDS_BY_HAND);
  expect(unlisted(names, rows, byHand)).toEqual([]);
  // Take them from the list: they have a row now, or are no more.
  expect(unlisted(byHand, unlisted(names, rows))).toEqual([]);
});

test('Every row of a module is in the list of operations', async () => {
  const rows = new Set<unknown>(OPERATIONS);
  const folder = fileURLToPath(new URL('../../src/operations/', import.meta.url));
  const modules = (await readdir(folder)).filter((file) => file.endsWith('.ts'));
  for (const module of modules) {
    const members = Object.entries(await import(/* @vite-ignore */ `${folder}${module}`));
    const left = members.filter(([, member]) => isRow(member) && !rows.has(member)).map(([name]) => name);
    expect(left, module).toEqual([]);
  }
});

test('The names of operations are unique', () => {
  const names = OPERATIONS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});
