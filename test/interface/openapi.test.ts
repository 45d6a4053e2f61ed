import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { startSimulator } from '../../src/simulator/index.js';
import { type RawReply, reply } from '../simulator/raw-http.js';

const FILE = 'docs/interface.openapi.yaml';
const text = readFileSync(FILE, 'utf8');
const response = z.object({
  $ref: z.string().optional(),
  headers: z.record(z.string(), z.unknown()).optional(),
  content: z.record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()) })).optional(),
});
const document = z
  .object({
    paths: z.record(z.string(), z.record(z.string(), z.unknown())),
    components: z.object({ responses: z.record(z.string(), response), schemas: z.unknown() }),
  })
  .parse(parse(text));

const ajv = addFormats.default(new Ajv2020({ strict: false }));
ajv.addSchema({ $id: 'interface', components: document.components });

/** The documented responses, as `method path status`. */
const documented = new Map<string, z.infer<typeof response>>(
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      const { responses = {} } = z
        .object({ responses: z.record(z.string(), response) })
        .partial()
        .catch({})
        .parse(operation);
      return Object.entries(responses).map(([status, found]) => {
        const shared = document.components.responses[found.$ref?.split('/').at(-1) ?? ''];
        return [`${method} ${path} ${status}`, shared ?? found] as const;
      });
    }),
  ),
);

/** Null if the reply is as documented, else what is wrong with it. */
function problemOf(name: string, { headers, body }: RawReply): string | null {
  const found = documented.get(name);
  if (found === undefined) return 'not documented';
  for (const header of Object.keys(found.headers ?? {}))
    if (!headers.has(header.toLowerCase())) return `no ${header}`;
  const schema = found.content?.['application/json']?.schema;
  if (schema === undefined) return body === '' ? null : 'has a body';
  const $ref = (json: string) => json.replaceAll('"#/components/', '"interface#/components/');
  const validate = ajv.compile(JSON.parse($ref(JSON.stringify(schema))));
  return validate(JSON.parse(body)) ? null : ajv.errorsText(validate.errors);
}

let now = Date.UTC(2026, 2, 2);
const simulator = await startSimulator(
  {
    keys: [{ key: 'good', quota: 3 }, { key: 'forbidden', forbidden: true }, { key: 'other' }],
    accounts: [{ username: 'ann', password: 'secret' }],
    deliveryTime: 1_000,
  },
  { clock: () => now },
);
afterAll(() => simulator.close());

const origin = new URL(simulator.messagingBaseUrl).origin;
const call = (line: string, headers: readonly string[], body = ''): Promise<RawReply> =>
  reply(
    origin,
    `${line} HTTP/1.1\nHost: simulator\n${headers.join('\n')}\nContent-Type: application/json\nContent-Length: *\n\n${body}\n`,
  );
const bearer = (key: string) => [`Authorization: Bearer ${key}`];
const BASE = '/smsmessaging/v1';
const SEND = `POST ${BASE}/outbound/tel%3A%2B4790000001/requests`;
const MESSAGE = JSON.stringify({
  outboundSMSMessageRequest: {
    address: ['tel:+4791000001', 'tel:+4791000002'],
    senderAddress: 'tel:+4790000001',
    outboundSMSTextMessage: { message: 'Hei' },
    senderName: 'ACME',
  },
});
const CALLBACK = JSON.stringify({ callback: { url: 'http://127.0.0.1:9/hook', securityToken: 'secret' } });

test('The description of the interface is a valid OpenAPI document', async () => {
  const { valid, errors } = await new Validator().validate(text);
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
});

test('Every response that it describes is one that the simulator gives, and has the described form', async () => {
  const seen = new Map<string, string | null>();
  const note = (name: string, raw: RawReply): RawReply => {
    const full = `${name} ${raw.statusLine.split(' ')[1]}`;
    seen.set(full, problemOf(full, raw));
    return raw;
  };
  const send = 'post /outbound/{senderAddress}/requests';
  const sent = note(send, await call(SEND, bearer('good'), MESSAGE));
  note(send, await call(SEND, bearer('unknown'), MESSAGE));
  note(send, await call(SEND, bearer('forbidden'), MESSAGE));

  const poll = 'get /outbound/{senderAddress}/requests/{requestId}/deliveryInfos';
  const id = sent.headers.get('location')?.split('/').at(-1) ?? '';
  const pathOf = (request: string) =>
    `GET ${BASE}/outbound/tel%3A%2B4790000001/requests/${request}/deliveryInfos`;
  now += 2_000;
  note(poll, await call(pathOf(id), bearer('good')));
  note(poll, await call(pathOf('none'), bearer('other')));
  note(poll, await call(pathOf(id), bearer('unknown')));
  note(poll, await call(pathOf(id), bearer('forbidden')));
  await call(pathOf(id), bearer('good'));
  note(poll, await call(pathOf(id), bearer('good')));
  note(send, await call(SEND, bearer('good'), MESSAGE));

  const subscription = (method: string, key: string, body = ''): Promise<RawReply> =>
    call(`${method} ${BASE}/outbound/subscriptions`, bearer(key), body);
  const path = '/outbound/subscriptions';
  for (const method of ['GET', 'DELETE']) {
    note(`${method.toLowerCase()} ${path}`, await subscription(method, 'unknown'));
    note(`${method.toLowerCase()} ${path}`, await subscription(method, 'other'));
  }
  note(`post ${path}`, await subscription('POST', 'other', '{}'));
  note(`post ${path}`, await subscription('POST', 'other', CALLBACK));
  note(`post ${path}`, await subscription('POST', 'other', CALLBACK));
  note(`get ${path}`, await subscription('GET', 'other'));
  note(`delete ${path}`, await subscription('DELETE', 'other'));

  const browser = 'X-Requested-With: XMLHttpRequest';
  const login = JSON.stringify({ username: 'ann', password: 'secret' });
  const pair = note('post /api/login', await call('POST /api/login', [browser], login));
  const { RefreshToken } = z.object({ RefreshToken: z.string() }).parse(JSON.parse(pair.body));
  note(
    'get /api/RefreshToken',
    await call('GET /api/RefreshToken', [browser, `X-Authorization: Bearer ${RefreshToken}`]),
  );

  expect([...seen].filter(([, problem]) => problem !== null)).toEqual([]);
  expect([...seen.keys()].sort()).toEqual([...documented.keys()].sort());
});
