import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenAPIV3_1 } from 'openapi-types';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createVolley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { API_SCOPES } from '../../src/campaign/api-key.js';
import { NoSuchLaneError } from '../../src/campaign/errors.js';
import { admit } from '../../src/operations/access.js';
import { OPERATIONS } from '../../src/operations/index.js';
import { isThere, type Operation } from '../../src/operations/operation.js';
import { campaignRequest } from '../../src/surfaces/http/campaign-request.js';
import { testRedis } from '../base/redis/test-redis.js';
import { serveApi } from '../surfaces/http/api.js';

/*
 * What each operation that takes a lane does with one that does not exist, and with one that the key may not use. The requests are made from
 * the rows, so a new operation is tested as well.
 */

const { url, prefix } = testRedis('operations-named-lanes');
const lanesFile = join(mkdtempSync(join(tmpdir(), 'volley-named-lanes-')), 'lanes.json');
writeFileSync(lanesFile, JSON.stringify(['east', 'west'].map((name) => ({ name, apiKey: `key-${name}` }))));
const settings = {
  API_KEY: '',
  LANES_FILE: lanesFile,
  REDIS_URL: url,
  REDIS_PREFIX: prefix,
  SENDER_ADDRESS: 'ACME',
};
const { key, origin } = await serveApi(settings);
const all = await key();
const ofEast = await key(API_SCOPES, ['east']);

/** The member of the input that names a lane; undefined if none does. */
function laneMember({ access, http, input }: Operation): string | undefined {
  if ('lane' in input.shape || access.rule === 'lane') return 'lane';
  if (isThere(http)) return /^\w+ \/lanes\/\{(\w+)\}/.exec(http)?.[1];
  return undefined;
}

const TAKING_LANE = OPERATIONS.filter((operation) => laneMember(operation) !== undefined);

/** Valid values by the name of the member; others are the letter a. */
const VALUES: Readonly<Record<string, string>> = {
  to: '+447700900123',
  numbers: '+447700900123',
  cron: '0 9 * * 1',
  zone: 'UTC',
  scope: 'read',
};

type Schema = z.core.JSONSchema._JSONSchema | undefined;

/** A valid value: its example, or its required members. */
function sampleOf(schema: Schema, root: Schema, name = ''): unknown {
  if (typeof schema !== 'object') return VALUES[name] ?? 'a';
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.type === 'array') return [sampleOf(schema.items as Schema, root, name)];
  const { properties, required = [] } = resolved(schema, root);
  const value = VALUES[name] ?? 'a';
  if (properties === undefined) return value.length <= (schema.maxLength ?? value.length) ? value : 'a';
  return Object.fromEntries(required.map((each) => [each, sampleOf(properties[each], root, each)]));
}

/** A schema with a name is a reference. */
const resolved = (schema: z.core.JSONSchema.JSONSchema, root: Schema): z.core.JSONSchema.JSONSchema =>
  schema.$ref === undefined ? schema : Object(Object(root).$defs)[schema.$ref.split('/').at(-1) ?? ''];

/** An input of an operation that is valid but for its lane. */
function inputOf(operation: Operation, lane: string): Record<string, unknown> {
  const schema = operation.kind === 'upload' ? campaignRequest : operation.input;
  const json = z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' });
  const given = sampleOf(json, json) as Record<string, unknown>;
  const member = laneMember(operation) ?? '';
  const isList = Object(resolved(json, json).properties)[member]?.type === 'array';
  return { ...given, [member]: isList ? [lane] : lane };
}

const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;

interface Answer {
  readonly status: number;
  readonly problem: { readonly code?: string; readonly detail?: string };
}

/** The response to an operation on a lane. A stream is not read. */
async function ask(operation: Operation, lane: string, as: string): Promise<Answer> {
  const [method = '', path = ''] = isThere(operation.http) ? operation.http.split(' ') : [];
  const described = document.paths?.[`/v1${path}`]?.[method.toLowerCase() as 'get'];
  const input = inputOf(operation, lane);
  const placed = (place: string) =>
    (described?.parameters ?? []).flatMap((each) =>
      'name' in each && each.in === place && each.name in input ? [each.name] : [],
    );
  const address = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(input[name])));
  const query = new URLSearchParams(
    placed('query').map((name): [string, string] => [name, String(input[name])]),
  );
  const rest = Object.entries(input).filter(
    ([name]) => ![...placed('query'), ...placed('path')].includes(name),
  );
  const body = operation.body === undefined ? Object.fromEntries(rest) : input[operation.body];
  const isLines = operation.kind === 'rows' && operation.body !== undefined;
  const over = new AbortController();
  const reply = await fetch(`${origin}/v1${address}?${query}`, {
    method,
    headers: {
      authorization: `Bearer ${as}`,
      ...(described?.requestBody && {
        'content-type': isLines ? 'application/x-ndjson' : 'application/json',
      }),
    },
    ...(described?.requestBody && { body: JSON.stringify(body) }),
    signal: over.signal,
  });
  const isProblem = reply.headers.get('content-type')?.startsWith('application/problem+json') === true;
  const problem = isProblem ? JSON.parse(await reply.text()) : {};
  over.abort();
  return { status: reply.status, problem };
}

// With the addresses and credentials of the service, as on the command line.
const config = loadConfig({
  ...settings,
  MESSAGING_BASE_URL: 'http://127.0.0.1:9',
  ALLOW_INSECURE: 'service',
});
const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
afterAll(() => volley.close());

const isNoLane = ({ problem }: Answer): boolean => /^There is no lane /.test(problem.detail ?? '');

describe.each(
  TAKING_LANE.filter(({ http }) => isThere(http)).map((operation) => [operation.name, operation] as const),
)('Over HTTP, %s', (_, operation) => {
  test('refuses a lane that does not exist', async () => {
    const answer = await ask(operation, 'nowhere', all);
    expect(answer).toMatchObject({ status: 404, problem: { code: 'notFound' } });
    expect(answer.problem.detail).toMatch(
      /^There is no lane nowhere; the (configured )?lanes are: east and west\.$/,
    );
  });

  test('refuses a lane of another key as if it did not exist', async () => {
    const [foreign, unknown] = [
      await ask(operation, 'west', ofEast),
      await ask(operation, 'nowhere', ofEast),
    ];
    expect(JSON.stringify(foreign).replaceAll('west', 'nowhere')).toBe(JSON.stringify(unknown));
    if (operation.access.rule === 'all') expect(unknown).toMatchObject({ status: 403 });
    else {
      expect(unknown).toMatchObject({ status: 404, problem: { code: 'notFound' } });
      expect(unknown.problem.detail).toBe('There is no lane nowhere. The lanes of this key are: east.');
    }
  });

  test('accepts a lane that the key may use', async () => {
    // It would rename the lane.
    if (operation.access.rule === 'all') return;
    for (const answer of [await ask(operation, 'west', all), await ask(operation, 'east', ofEast)]) {
      expect(isNoLane(answer)).toBe(false);
      expect(answer.status, JSON.stringify(answer.problem)).not.toBe(403);
    }
  });
});

test.each(TAKING_LANE.map((operation) => [operation.name, operation] as const))(
  'On the command line and in the library, %s refuses a lane that does not exist',
  async (_, operation) => {
    const ran = async (lane: string): Promise<unknown> => {
      const input = inputOf(operation, lane) as never;
      const admitted = await admit<never>(operation.access, null, volley, input);
      const hooks = { lanes: admitted.lanes, found: admitted.found as never };
      if (operation.kind === 'feed') return operation.run(volley, admitted.input, hooks);
      const done = await operation.run(volley, admitted.input, hooks);
      if (operation.kind === 'rows') for await (const __ of done as AsyncIterable<unknown>);
      return done;
    };
    // No command follows events.
    if (operation.kind === 'feed') return;
    await expect(ran('nowhere')).rejects.toThrow(NoSuchLaneError);
  },
);

test('Operations take a lane in the query, in the path, and in the body', () => {
  const names = TAKING_LANE.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['listResults', 'holdLane', 'createCampaign', 'createKey']));
  expect(names.length).toBeGreaterThan(35);
});
