import type { Command } from 'commander';
import type { OpenAPIV3_1 } from 'openapi-types';
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/operations/index.js';
import { isThere, type Operation } from '../../src/operations/operation.js';
import { createContext } from '../../src/surfaces/cli/context.js';
import { createProgram } from '../../src/surfaces/cli/program.js';
import { testRedis } from '../base/redis/test-redis.js';
import { serveApi } from '../surfaces/http/api.js';

const { url, prefix } = testRedis('operations-reachable');
const { origin } = await serveApi({ REDIS_URL: url, REDIS_PREFIX: prefix });
const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;
const { env, stdin, stdout, stderr } = process;
const program = createProgram(
  createContext({ env, cwd: '/', stdin, stdout, stderr, clock: Date.now }, false),
);

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

test('The names of operations are unique', () => {
  const names = OPERATIONS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});
