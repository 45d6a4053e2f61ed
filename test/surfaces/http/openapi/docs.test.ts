import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { OpenAPIV3_1 } from 'openapi-types';
import { describe, expect, test } from 'vitest';
import { API_SCOPES } from '../../../../src/campaign/states/api-key.js';
import { BROADCAST_EVENTS } from '../../../../src/reporting/event-feed.js';
import { PROBLEMS } from '../../../../src/surfaces/http/server/problem.js';
import { blocks, printedCommands, unknownIn } from '../../../house/commands.js';
import { documentedBy } from '../../../scene/documented.js';
import { scene } from '../../../scene/scene.js';

const { origin, call, key } = await scene('http-document').api();
const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;
const page = await fetch(`${origin}/docs`);
const html = await page.text();

type Operation = OpenAPIV3_1.OperationObject & { 'x-scope'?: string };
const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  Object.entries(item ?? {}).map(([method, operation]) => ({
    path,
    method,
    operation: operation as Operation,
  })),
);

test('The document is valid OpenAPI 3.1, and every reference in it resolves', async () => {
  expect(document.openapi).toBe('3.1.0');
  expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true });
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to = '']) => to);
  expect(references.length).toBeGreaterThan(20);
  const lost = references.filter(
    (to) =>
      !/^#\/components\/(?:schemas|headers)\//.test(to) ||
      document.components?.[to.split('/')[2] === 'headers' ? 'headers' : 'schemas']?.[
        to.split('/')[3] ?? ''
      ] === undefined,
  );
  expect(lost).toEqual([]);
});

test('Each operation has a summary, the scope that it requires, and its error responses', () => {
  expect(operations.length).toBeGreaterThan(18);
  for (const { path, operation } of operations) {
    expect(operation.summary, path).toMatch(/^[A-Z].{8,}[^.]$/);
    expect(operation.tags, path).toHaveLength(1);
    if (!path.startsWith('/v1/')) continue;
    expect([...API_SCOPES, 'any'], path).toContain(operation['x-scope']);
    const refusals = Object.entries(operation.responses ?? {}).filter(([status]) => Number(status) >= 400);
    expect(refusals.map(([status]) => status)).toEqual(
      expect.arrayContaining(['400', '401', '403', '429', '500', '503']),
    );
    if (operation.requestBody !== undefined) {
      expect(Object.keys(operation.responses ?? {}), path).toEqual(expect.arrayContaining(['413', '415']));
    }
    for (const [, response] of refusals) {
      expect(response).toHaveProperty(['content', 'application/problem+json']);
    }
  }
});

test('Operations and schemas have the names that a generated client needs, and no schema is unused', () => {
  const names = operations.map(({ operation }) => operation.operationId ?? '');
  expect(names.filter((name) => !/^[a-z]+[A-Z][A-Za-z]+$/.test(name))).toEqual([]);
  expect(new Set(names).size).toBe(operations.length);
  const shapes = Object.keys(document.components?.schemas ?? {});
  expect(shapes).toEqual(
    expect.arrayContaining(['CampaignRequest', 'CampaignStatus', 'LaneStatus', 'Preview', 'FoundRecipient']),
  );
  const text = JSON.stringify(document);
  expect(shapes.filter((name) => !text.includes(`"#/components/schemas/${name}"`))).toEqual([]);
});

test('The document describes a campaign as JSON and as a form at addresses of their own, for generated clients', () => {
  const contentOf = (path: string): object =>
    Object(document.paths?.[path]?.post?.requestBody as OpenAPIV3_1.RequestBodyObject).content;
  for (const path of ['/v1/campaigns', '/v1/preview']) {
    expect(Object.keys(contentOf(path))).toEqual(['application/json']);
    expect(contentOf(`${path}/upload`)).toMatchObject({
      'multipart/form-data': { schema: { required: ['campaign', 'recipients'] } },
    });
    expect(Object.keys(contentOf(`${path}/upload`))).toHaveLength(1);
  }
});

test('Each response has a description, and an error response lists the codes of its address', () => {
  for (const { path, method, operation } of operations) {
    for (const [status, response] of Object.entries(operation.responses ?? {})) {
      const words = 'description' in response ? response.description : undefined;
      expect([method, path, status, words]).toEqual([
        method,
        path,
        status,
        expect.stringMatching(/^[A-Z`].{5,}/),
      ]);
      expect(words).not.toBe('Default Response');
    }
  }
  const at = (path: string) => document.paths?.[path]?.post?.responses ?? {};
  expect(at('/v1/campaigns')).toMatchObject({
    409: { description: expect.stringMatching(/; `repeated`: The same campaign was created within/) },
    422: { description: expect.stringMatching(/^`invalidRows`: .*; `conflict`: /) },
  });
  expect(at('/v1/campaigns/{id}/pause')).toMatchObject({
    409: { description: expect.stringMatching(/^`invalidState`/) },
  });
});

test('Names of headers have their usual spelling', () => {
  const names = operations.flatMap(({ operation }) =>
    (operation.parameters ?? []).flatMap((each) => ('in' in each && each.in === 'header' ? [each.name] : [])),
  );
  expect(new Set(names)).toEqual(new Set(['Idempotency-Key', 'Last-Event-ID', 'If-None-Match']));
});

test('The document describes headers, examples, tags, and the items of streams', () => {
  for (const path of ['/v1/campaigns', '/v1/schedules', '/v1/outboxes'])
    expect(document.paths?.[path]?.post?.responses?.['201'], path).toMatchObject({
      headers: { Location: {}, 'X-Request-Id': {}, 'RateLimit-Remaining': {} },
    });
  for (const { path, operation } of operations) {
    for (const [status, response] of Object.entries(operation.responses ?? {})) {
      if (status === '429' || status === '503')
        expect(response, path).toHaveProperty(['headers', 'Retry-After']);
      if (Number(status) >= 400) {
        expect(response, path).toMatchObject({
          content: { 'application/problem+json': { example: { status: Number(status) } } },
        });
      }
    }
  }
  expect(document.tags?.every(({ description = '' }) => description.length > 20)).toBe(true);
  const request = document.components?.schemas?.['CampaignRequest'];
  expect(request).toMatchObject({
    examples: [{ recipients: [{ to: '+447700900123' }] }],
    properties: { recipients: { items: { required: ['to'] } } },
  });
  const contentOf = (path: string) => {
    const response = document.paths?.[path]?.get?.responses?.['200'];
    return response !== undefined && 'content' in response ? response.content : {};
  };
  expect(contentOf('/v1/campaigns/{id}/report')?.['application/x-ndjson']?.schema).toMatchObject({
    type: 'string',
    contentSchema: { $ref: '#/components/schemas/ReportRow' },
  });
  expect(JSON.stringify(contentOf('/v1/events')?.['text/event-stream']?.schema)).toContain('schemas/Event"');
  const { oneOf: types = [] } = (document.components?.schemas?.['Event'] ?? {}) as OpenAPIV3_1.SchemaObject;
  expect(types).toHaveLength(BROADCAST_EVENTS.length);
});

test('The document states the bounds and defaults of parameters and members', () => {
  const parameters = document.paths?.['/v1/campaigns']?.get?.parameters;
  const limit = { type: 'integer', minimum: 1, maximum: 200, default: 50 };
  expect(parameters).toContainEqual(expect.objectContaining({ name: 'limit', in: 'query', schema: limit }));
  const request = document.components?.schemas?.['CampaignRequest'];
  expect(request).toMatchObject({
    properties: {
      message: { maxLength: 20_000 },
      recipients: {
        items: { additionalProperties: { description: expect.stringContaining('placeholder') } },
      },
    },
  });
});

test('The page loads only scripts of its own server, and its policy allows no others', async () => {
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("connect-src 'self'");
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
  const [, inline = ''] = /<script>(.*?)<\/script>/s.exec(html) ?? [];
  const digest = createHash('sha256').update(inline).digest('base64');
  expect(policy).toContain(`script-src 'self' 'sha256-${digest}'`);
  const loaded = [...html.matchAll(/(?:src|href|url)="([^"]+)"/g)].map(([, to = '']) => to);
  expect(loaded.sort()).toEqual(['data:,', 'docs/openapi-explorer.js', 'openapi.json', 'openapi.json']);
  const script = await fetch(`${origin}/docs/openapi-explorer.js`);
  expect([script.status, script.headers.get('content-type')]).toEqual([
    200,
    'text/javascript; charset=utf-8',
  ]);
  expect(await script.text()).toContain('openapi-explorer');
});

test('The page describes each error, its cause, and its remedy at the address that is its type', async () => {
  const { json } = await call('GET', '/v1/campaigns/nowhere');
  expect(json).toMatchObject({ type: '/docs#problem-notFound' });
  for (const { code, title } of PROBLEMS) {
    const [, row = ''] = html.split(`<tr id="problem-${code}">`);
    const words = row.slice(0, row.indexOf('</tr>')).replace(/<[^>]+>/g, '');
    expect(words.length, code).toBeGreaterThan(code.length + title.length + 60);
  }
});

describe('docs/http.md', () => {
  const text = readFileSync(new URL('../../../../docs/http.md', import.meta.url), 'utf8');

  const [keyWanted = '', keyCreated = '', example = ''] = blocks(text, 'json');

  test('shows a request for a key, and the members of the response', async () => {
    const { status, json } = await call('POST', '/v1/keys', { body: JSON.parse(keyWanted) });
    expect(status).toBe(201);
    const shown = JSON.parse(keyCreated);
    expect(Object.keys(shown)).toEqual(Object.keys(Object(json)));
    const { name, scopes, lanes, recipientsPerDay } = shown;
    expect(json).toMatchObject({ name, scopes, lanes, recipientsPerDay });
  });

  test('shows a page of results with null for what is absent', () => {
    documentedBy({ ...document })({
      ...{ method: 'GET', path: '/v1/results', status: 200, type: 'application/json' },
      body: example,
    });
    expect(example).not.toContain('""');
  });

  test('lists every event of the stream', () => {
    const [, table = ''] = text.split('| event | meaning |');
    const rows = table.split('\n\n')[0] ?? '';
    const listed = [...rows.matchAll(/`(\w+\.\w+)`/g)].map(([, type]) => type);
    expect(listed.sort()).toEqual([...BROADCAST_EVENTS].sort());
  });

  test('names only addresses that exist', () => {
    const named = [...text.matchAll(/(?<=[`\s]|8080)(\/v1\/[\w/]*\w)/g)].map(([, path = '']) =>
      path.replace('/ID', '/{id}'),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => document.paths?.[path] === undefined)).toEqual([]);
  });

  test('prints shell commands that run as they are', async () => {
    // `volley keys create` prints a key of this server, other `volley` commands do nothing, and streams end after two seconds.
    const beside = `
      set -e
      npx() { if [ "$*" = "volley keys create --name shop --scope read,send" ]; then echo "$TEST_KEY"; fi; }
      curl() {
        if [ "$1" = -N ]; then command curl -sS --fail --max-time 2 "$@" || [ $? = 28 ]
        else command curl -sS --fail "$@"; fi
      }
    `;
    const lines = blocks(text, 'sh').join('').replaceAll('http://127.0.0.1:8080', origin);
    const { stdout } = await promisify(execFile)('bash', ['-c', `${beside}${lines}`], {
      cwd: fileURLToPath(new URL('../../../../', import.meta.url)),
      env: { ...process.env, TEST_KEY: await key(['read', 'send']) },
    });
    expect(stdout.match(/"outcome":"created"/g)).toHaveLength(3);
    expect(stdout).toContain('"hasMore":false');
    expect(stdout).toMatch(/"recipientCount":\d{3},/);
    expect(stdout).toContain('event: campaign.status');
  });

  test.each(printedCommands(text))('prints only commands that exist: %s', (line) => {
    expect(unknownIn(line)).toEqual([]);
  });
});
