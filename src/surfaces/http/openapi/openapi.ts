import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { z } from 'zod';
import { version } from '../../../base/version.js';
import { MISSING } from '../../../campaign/fields/input.js';
import { campaignDetails, campaignRequest } from '../bodies/campaign-request.js';
import { problemResponses } from '../route.js';
import { itemOf, PROBLEMS, Problem, problemBody } from '../server/problem.js';
import { webhooksOf } from './openapi-webhooks.js';

const DESCRIPTION = `Volley sends bulk SMS campaigns. It never exceeds the hourly quota that you set, never sends a message twice, and accounts for every recipient.

Every request below /v1 requires an API key: \`Authorization: Bearer vk_…\`. \`volley keys create\` creates one with some of the scopes \`status\` (states and counts, without numbers and texts), \`metrics\` (only /metrics), \`read\` (everything, including both), \`send\`, \`operate\`, \`inbound\` (only submit replies), and \`admin\` (lanes and keys). Errors are problem documents (RFC 9457, \`application/problem+json\`).`;

const TAGS = {
  Campaigns: 'Create campaigns, follow them to their report, and pause, resume, cancel, or resolve them.',
  Schedules: 'Repeat a campaign at the times of a cron expression, in a time zone.',
  Outboxes: 'Send single messages over time, such as reminders, and change or cancel them by ids of yours.',
  Events: 'Follow what happens, live, as server-sent events.',
  Webhooks: 'Let Volley post what happens to an address of yours.',
  Lanes:
    'Show, hold, resume, and rename lanes: the traffic of one API key or account of the messaging service.',
  Numbers: 'Find a number in all campaigns, and suppress numbers that must not receive messages.',
  'Call records': 'Request call detail records from the service, follow the request, and download them.',
  'API keys': 'List the keys of this API, and revoke them. The command line creates them.',
  Operation: 'Check health, read metrics, list the workers, and see who did what.',
} as const;

const text = { type: 'string' } as const;
const seconds = { type: 'integer', minimum: 0 } as const;

/** Headers of responses. */
const HEADERS = {
  'X-Request-Id': {
    description: 'The `X-Request-Id` of the request, or a new id. The server logs it.',
    schema: text,
    example: '0b9e8c1e-5f0c-4a57-9c53-2a7d3c1d9f10',
  },
  Location: {
    description: 'The address of what was created, or exists already',
    schema: text,
    example: '/v1/campaigns/mwrwtvlrlfo07',
  },
  'Retry-After': { description: 'After how many seconds you can retry', schema: seconds, example: 2 },
  ETag: {
    description: 'The version of the content, for `If-None-Match`',
    schema: text,
    example: 'W/"nG0lGJzU8vE"',
  },
  'WWW-Authenticate': { description: 'How to authenticate', schema: text, example: 'Bearer' },
  'RateLimit-Limit': {
    description: 'Requests per minute of the limit that this request counts for',
    schema: seconds,
    example: 600,
  },
  'RateLimit-Remaining': { description: 'Requests that are left', schema: seconds, example: 599 },
  'RateLimit-Reset': {
    description: 'Seconds until the full limit is available again',
    schema: seconds,
    example: 1,
  },
  'RateLimit-Policy': {
    description: 'The limits of requests and of bytes',
    schema: text,
    example: '600;w=60, 1000000000;w=60;unit="bytes"',
  },
} as const satisfies Record<string, OpenAPIV3_1.HeaderObject>;

/** The headers of a response, as references. */
function headersOf(status: string, hasKey: boolean, { responses, 'x-etag': hasEtag }: Operation) {
  const names: (keyof typeof HEADERS)[] = ['X-Request-Id'];
  const isAuthenticated = hasKey && !['401', '417'].includes(status);
  if (isAuthenticated)
    names.push('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy');
  if (status === '401') names.push('WWW-Authenticate');
  if (status === '429' || status === '503') names.push('Retry-After');
  // What creates something returns its address, even if it existed already.
  if (responses?.['201'] !== undefined && (status === '200' || status === '201')) names.push('Location');
  if (hasEtag === true && (status === '200' || status === '304')) names.push('ETag');
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/**
 * Collects the OpenAPI 3.1 document from the schemas of all routes that are registered after this call, except those with
 * `hide`. Read it with {@link openApiDocument} when the app is ready.
 */
export function collectOpenApi(app: FastifyInstance, mountedAt = ''): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Volley',
        version,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: mountedAt || '/' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: {
        headers: HEADERS,
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'A key that `volley keys create` printed' },
        },
      },
      security: [{ key: [] }],
    },
    transform(route) {
      const { schema, url } = jsonSchemaTransform(route);
      const { scope, acceptsUpload, showsForm, hasEtag } = route.route.config ?? {};
      const extensions = {
        ...(scope && { 'x-scope': scope }),
        ...(acceptsUpload && { 'x-form': showsForm === true }),
        ...(hasEtag && { 'x-etag': true }),
      };
      return { url, schema: { ...schema, ...extensions } };
    },
    transformObject(collected) {
      const document = jsonSchemaTransformObject(collected) as OpenAPIV3_1.Document;
      for (const path of Object.values(document.paths ?? {})) {
        for (const [method, operation] of Object.entries(path ?? {})) {
          complete(operation as Operation, method, mountedAt);
          spellHeaders(operation as Operation);
        }
      }
      return withoutUnusedSchemas({ ...document, webhooks: webhooksOf() });
    },
  });
}

/** The document of an app that is ready; throws before. */
export function openApiDocument(app: FastifyInstance): OpenAPIV3_1.Document {
  return app.swagger() as OpenAPIV3_1.Document;
}

/** An operation with our extensions (OpenAPI 3.1, section 4.9): the scope, for a campaign, whether it is a form, and whether it has ETags. */
type Operation = OpenAPIV3_1.OperationObject & {
  readonly 'x-scope'?: string;
  readonly 'x-form'?: boolean;
  readonly 'x-etag'?: boolean;
};

/** Problems of any request. */
const ALWAYS = problemResponses('badInput', 'expectation');
/** Problems of any request that requires a key. */
const WITH_KEY = problemResponses(
  'badInput',
  'unauthorised',
  'misdirected',
  'forbidden',
  'tooManyRequests',
  'failed',
  'full',
  'unavailable',
);
/** Problems of any request with a body, even on a route that takes none. */
const WITH_BODY = problemResponses('tooLarge', 'unsupported');

const PROBLEM_CONTENT = { 'application/problem+json': { schema: referenceTo(problemBody) } };

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of the content that you have',
  schema: text,
} as const satisfies OpenAPIV3_1.ParameterObject;

const UNCHANGED = {
  description: 'The content still has the `ETag` of `If-None-Match`. The response has no body.',
} as const;

/** A problem with this status. */
function exampleOf(status: number, mountedAt: string): object {
  const [kind] = PROBLEMS.filter((problem) => problem.status === status);
  const code = kind?.code ?? 'failed';
  const errors = code === 'badInput' ? [itemOf('/message', MISSING, 'missing')] : [];
  const detail = code === 'badInput' ? '`message` is missing.' : `${kind?.title}.`;
  return new Problem(code, detail, { errors }).body(mountedAt);
}

/** The body of a campaign as JSON, where it may not be null. */
const JSON_CONTENT = { 'application/json': { schema: referenceTo(campaignRequest) } };

/** The same as a form. An operation has one of them, because generated clients take one type of body. */
const FORM_CONTENT = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['campaign', 'recipients'],
      additionalProperties: false,
      properties: {
        campaign: referenceTo(campaignDetails),
        recipients: {
          type: 'string',
          format: 'binary',
          contentMediaType: 'text/csv',
          description: 'The list as CSV with a header line. It must come after `campaign`.',
        },
      },
    },
    encoding: { campaign: { contentType: 'application/json' }, recipients: { contentType: 'text/csv' } },
  },
} as const satisfies Record<string, OpenAPIV3_1.MediaTypeObject>;

/** Adds what the schemas of a route do not say: the scope, the problems that any route may return, and the upload. */
function complete(operation: Operation, method: string, mountedAt: string): void {
  const { 'x-scope': scope, 'x-form': isForm, requestBody } = operation;
  if (scope !== undefined) {
    const required = scope === 'any' ? 'Any key may use it.' : `Requires the scope \`${scope}\`.`;
    operation.description = `${operation.description ?? ''} ${required}`.trim();
  }
  const problems = {
    ...ALWAYS,
    ...(scope !== undefined && WITH_KEY),
    ...(scope !== undefined && ['post', 'put', 'patch', 'delete'].includes(method) && WITH_BODY),
  };
  const responses = Object.entries(problems).map(([status, { description }]) => [
    status,
    { description, content: PROBLEM_CONTENT },
  ]);
  const unchanged = operation['x-etag'] === true ? { 304: UNCHANGED } : {};
  if (operation['x-etag'] === true) {
    operation.parameters = [...(operation.parameters ?? []), IF_NONE_MATCH];
  }
  const all: OpenAPIV3_1.ResponsesObject = {
    ...Object.fromEntries(responses),
    ...unchanged,
    ...operation.responses,
  };
  operation.responses = all;
  for (const [status, response] of Object.entries(all)) {
    if ('$ref' in response) continue;
    response.headers = headersOf(status, scope !== undefined, operation);
    const problem = response.content?.['application/problem+json'];
    if (problem === undefined) continue;
    const example = exampleOf(Number(status), mountedAt);
    response.content = { ...response.content, 'application/problem+json': { ...problem, example } };
  }
  if (requestBody === undefined || '$ref' in requestBody) return;
  if (isForm !== undefined) requestBody.content = isForm ? FORM_CONTENT : JSON_CONTENT;
  // As in validation.ts: without a member that must be there, the body may be missing.
  const schema = requestBody.content['application/json']?.schema;
  if (schema !== undefined && 'properties' in schema && schema.required === undefined)
    requestBody.required = false;
}

/** The framework keeps names of headers in lower case, as it compares them. */
function spellHeaders(operation: Operation): void {
  for (const parameter of operation.parameters ?? []) {
    if ('$ref' in parameter || parameter.in !== 'header') continue;
    const spelled = parameter.name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
    parameter.name = spelled.replace(/-Id$/, '-ID');
  }
}

function referenceTo(schema: z.ZodType): OpenAPIV3_1.ReferenceObject {
  return { $ref: `#/components/schemas/${schema.meta()?.id}` };
}

/** The library adds a second version of each named schema for requests (`…Input`). Of most, one is unused. */
function withoutUnusedSchemas(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  const text = JSON.stringify(document);
  const all = Object.entries(document.components?.schemas ?? {});
  const used = all.filter(([name]) => text.includes(`"#/components/schemas/${name}"`));
  const left = { ...document, components: { ...document.components, schemas: Object.fromEntries(used) } };
  // What only unused schemas refer to is unused, too.
  return used.length === all.length ? left : withoutUnusedSchemas(left);
}
