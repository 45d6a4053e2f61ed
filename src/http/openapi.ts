import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { z } from 'zod';
import { version } from '../version.js';
import { campaignDetails, campaignRequest } from './campaign-request.js';
import { problemBody } from './problem.js';
import { problemResponses } from './routes.js';

const DESCRIPTION = `Volley sends bulk SMS campaigns. It never exceeds the hourly quota, never sends a message twice, and accounts for every recipient.

Every request below /v1 requires an API key: \`Authorization: Bearer vk_…\`. \`volley keys create\` creates one with some of the scopes \`status\` (states and counts, without numbers and texts), \`metrics\` (only /metrics), \`read\` (everything, including both), \`send\`, and \`operate\`. Errors are problem documents (RFC 9457, \`application/problem+json\`).`;

/**
 * Collects the OpenAPI 3.1 document from the schemas of all routes that are registered after this call, except those with
 * `hide`. Read it with {@link openApiDocument} when the app is ready.
 */
export function collectOpenApi(app: FastifyInstance): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Volley',
        version,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: ['Campaigns', 'Events', 'Lanes', 'Numbers', 'Call records', 'Operation'].map((name) => ({
        name,
      })),
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'A key that `volley keys create` printed' },
        },
      },
      security: [{ key: [] }],
    },
    transform(route) {
      const { schema, url } = jsonSchemaTransform(route);
      const { scope, acceptsUpload } = route.route.config ?? {};
      const extensions = { ...(scope && { 'x-scope': scope }), ...(acceptsUpload && { 'x-upload': true }) };
      return { url, schema: { ...schema, ...extensions } };
    },
    transformObject(collected) {
      const document = jsonSchemaTransformObject(collected) as OpenAPIV3_1.Document;
      for (const path of Object.values(document.paths ?? {})) {
        for (const [method, operation] of Object.entries(path ?? {})) {
          complete(operation as Operation, method);
        }
      }
      return withoutUnusedSchemas(document);
    },
  });
}

/** The document of an app that is ready; throws before. */
export function openApiDocument(app: FastifyInstance): OpenAPIV3_1.Document {
  return app.swagger() as OpenAPIV3_1.Document;
}

/** An operation with our extensions (OpenAPI 3.1, section 4.9): the required scope, and whether it accepts an upload. */
type Operation = OpenAPIV3_1.OperationObject & {
  readonly 'x-scope'?: string;
  readonly 'x-upload'?: boolean;
};

/** Problems of any request. */
const ALWAYS = problemResponses('expectation');
/** Problems of any request that requires a key. */
const WITH_KEY = problemResponses(
  'badInput',
  'unauthorised',
  'forbidden',
  'tooManyRequests',
  'failed',
  'unavailable',
);
/** Problems of any request with a body, even on a route that takes none. */
const WITH_BODY = problemResponses('tooLarge', 'unsupported');

const PROBLEM_CONTENT = { 'application/problem+json': { schema: referenceTo(problemBody) } };

/** The body of a route that accepts uploads. Its schema covers only JSON, where the body may not be null. */
const UPLOAD_CONTENT = {
  'application/json': { schema: referenceTo(campaignRequest) },
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['campaign', 'recipients'],
      additionalProperties: false,
      properties: {
        campaign: referenceTo(campaignDetails),
        recipients: {
          type: 'string',
          contentMediaType: 'text/csv',
          description: 'The list as CSV with a header line. It must come after `campaign`.',
        },
      },
    },
    encoding: { campaign: { contentType: 'application/json' }, recipients: { contentType: 'text/csv' } },
  },
} as const satisfies Record<string, OpenAPIV3_1.MediaTypeObject>;

/** Adds what the schemas of a route do not say: the scope, the problems that any route may return, and the upload. */
function complete(operation: Operation, method: string): void {
  const { 'x-scope': scope, 'x-upload': isUpload, requestBody } = operation;
  if (scope !== undefined) {
    operation.description = `${operation.description ?? ''} Requires the scope \`${scope}\`.`.trim();
  }
  const problems = {
    ...ALWAYS,
    ...(scope !== undefined && WITH_KEY),
    ...(scope !== undefined && method === 'post' && WITH_BODY),
  };
  const responses = Object.entries(problems).map(([status, { description }]) => [
    status,
    { description, content: PROBLEM_CONTENT },
  ]);
  operation.responses = { ...Object.fromEntries(responses), ...operation.responses };
  if (isUpload === true && requestBody !== undefined && !('$ref' in requestBody)) {
    Object.assign(requestBody.content, UPLOAD_CONTENT);
  }
}

function referenceTo(schema: z.ZodType): OpenAPIV3_1.ReferenceObject {
  return { $ref: `#/components/schemas/${schema.meta()?.id}` };
}

/** The library adds a second version of each named schema for requests (`…Input`), of which most are unused. */
function withoutUnusedSchemas(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  const text = JSON.stringify(document);
  const all = Object.entries(document.components?.schemas ?? {});
  const used = all.filter(
    ([name]) => !name.endsWith('Input') || text.includes(`"#/components/schemas/${name}"`),
  );
  const left = { ...document, components: { ...document.components, schemas: Object.fromEntries(used) } };
  // What only unused schemas refer to is unused, too.
  return used.length === all.length ? left : withoutUnusedSchemas(left);
}
