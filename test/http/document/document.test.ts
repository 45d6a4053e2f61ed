import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { OpenAPIV3_1 } from 'openapi-types';
import { describe, expect, test } from 'vitest';
import { PROBLEMS } from '../../../src/http/problem-kinds.js';
import { BROADCAST_EVENTS } from '../../../src/reporting/event-feed.js';
import { blocks, printedCommands, unknownIn } from '../../house/commands.js';
import { testRedis } from '../../redis/test-redis.js';
import { served } from '../api.js';

const { url, prefix } = testRedis('http-document');
const { origin, ask, key } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix });
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

test('The document is OpenAPI 3.1 by its own schema, and every reference in it leads somewhere', async () => {
  expect(document.openapi).toBe('3.1.0');
  expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true });
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to = '']) => to);
  expect(references.length).toBeGreaterThan(20);
  const lost = references.filter(
    (to) =>
      !to.startsWith('#/components/schemas/') ||
      !(to.split('/')[3] ?? '' in (document.components?.schemas ?? {})),
  );
  expect(lost).toEqual([]);
});

test('Each operation says what it does, what its key must be allowed to, and what it may refuse', () => {
  expect(operations.length).toBeGreaterThan(18);
  for (const { path, operation } of operations) {
    expect(operation.summary, path).toMatch(/^[A-Z].{8,}[^.]$/);
    expect(operation.tags, path).toHaveLength(1);
    if (!path.startsWith('/v1/')) continue;
    expect(['read', 'send', 'operate'], path).toContain(operation['x-scope']);
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

test('A client made of it has a name for each operation and for what is answered, and nothing to spare', () => {
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

test('A campaign is described as JSON and as a form', () => {
  const body = document.paths?.['/v1/campaigns']?.post?.requestBody;
  expect(body).toMatchObject({
    required: true,
    content: {
      'application/json': {},
      'multipart/form-data': { schema: { required: ['campaign', 'recipients'] } },
    },
  });
});

test('Each answer is described in words, and a refusal by what it may be at that address', () => {
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
    409: { description: '`repeated`: The same campaign was made within 24 hours' },
    422: { description: expect.stringMatching(/^`invalidRows`: .*; `conflict`: /) },
  });
  expect(at('/v1/campaigns/{id}/pause')).toMatchObject({
    409: { description: expect.stringMatching(/^`notNow`/) },
  });
});

test('The page shows what bounds a member, what it is by default, and that rows carry values', () => {
  const rowOf = (name: string) =>
    html.split('<tr>').find((row) => row.startsWith(`<td><code>${name}</code>`));
  expect(rowOf('limit (query)')).toContain('integer, 1 to 200, default 50');
  expect(rowOf('format (query)')).toContain('default csv');
  expect(rowOf('message')).toContain('up to 20000 letters');
  expect(rowOf('recipients[].…')).toContain('A value for the placeholder of that name');
  expect(html).toContain('The campaign that was made before with this idempotency key');
});

test('The page says of each error when it comes and what to do, not its title alone', () => {
  for (const { code, title } of PROBLEMS) {
    const [, row = ''] = html.split(`<tr id="problem-${code}">`);
    const words = row.slice(0, row.indexOf('</tr>')).replace(/<[^>]+>/g, '');
    expect(words.length, code).toBeGreaterThan(code.length + title.length + 60);
  }
});

test('The page shows every operation and every error, and loads nothing from anywhere', () => {
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  for (const { path, method } of operations)
    expect(html).toContain(`<h3><b>${method.toUpperCase()}</b> ${path}</h3>`);
  expect(html).not.toMatch(/<script|\bsrc=|@import|url\(|<link/);
  const links = [...html.matchAll(/href="#([^"]+)"/g)].map(([, to = '']) => to);
  expect(links.filter((to) => !html.includes(`id="${to}"`))).toEqual([]);
});

test('The address that a problem gives as its type is on that page', async () => {
  const { said } = await ask('GET', '/v1/campaigns/nowhere');
  const { type } = said as { type: string };
  expect(type).toMatch(/^\/docs#/);
  expect(html).toContain(`id="${type.split('#')[1]}"`);
});

describe('docs/http.md', () => {
  const text = readFileSync(new URL('../../../docs/http.md', import.meta.url), 'utf8');

  test('lists every problem with its status', () => {
    const listed = [...text.matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)].map(
      ([, status, code]) => `${status} ${code}`,
    );
    expect(listed).toEqual(PROBLEMS.map(({ status, code }) => `${status} ${code}`));
  });

  test('lists every event that is told', () => {
    const [, table = ''] = text.split('| event | |');
    const rows = table.split('\n\n')[0] ?? '';
    const listed = [...rows.matchAll(/`(\w+\.\w+)`/g)].map(([, type]) => type);
    expect(listed.sort()).toEqual([...BROADCAST_EVENTS].sort());
  });

  test('names addresses that there are', () => {
    const named = [...text.matchAll(/(?<=[`\s]|8080)(\/v1\/[\w/]*\w)/g)].map(([, path = '']) =>
      path.replace('/ID', '/{id}'),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => document.paths?.[path] === undefined)).toEqual([]);
  });

  test('prints lines that can be copied, from the key on', async () => {
    // What is asked of the program itself is answered with a key of this server; streams are followed for a second.
    const beside = `
      set -e
      npx() { if [ "$*" = "volley keys create --name shop --scope read,send" ]; then echo "$GIVEN"; fi; }
      curl() { command curl -sS --fail --max-time 2 "$@" || [ $? = 28 ]; }
    `;
    const lines = blocks(text, 'sh').join('').replaceAll('http://127.0.0.1:8080', origin);
    const { stdout } = await promisify(execFile)('bash', ['-c', `${beside}${lines}`], {
      cwd: fileURLToPath(new URL('../../../', import.meta.url)),
      env: { ...process.env, GIVEN: await key(['read', 'send']) },
    });
    expect(stdout.match(/"existing":false/g)).toHaveLength(2);
    expect(stdout).toMatch(/"recipients":\d{3},/);
    expect(stdout).toContain('event: campaign.status');
  });

  test.each(printedCommands(text))('prints a command that there is: %s', (line) => {
    expect(unknownIn(line)).toEqual([]);
  });
});
