import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { OpenAPIV3_1 } from 'openapi-types';
import { version } from '../config/version.js';
import { refused } from './answers.js';
import { campaignOrder, campaignRequest } from './campaign-request.js';
import { documentPage } from './document-page.js';
import { PROBLEMS } from './problem-kinds.js';
import type { Routes } from './routes.js';

const DESCRIPTION = `Bulk SMS campaigns: never over the hourly quota, never a text sent twice, every recipient accounted for.

Each request under /v1 carries a key, \`Authorization: Bearer vk_…\`, made by \`volley keys create\`, with some of the scopes
\`read\`, \`send\` and \`operate\`. Errors are \`application/problem+json\` (RFC 9457) and name what is wrong and where.`;

/** What is answered at any address, before it is looked at. */
const ANYWHERE = refused('expectation');

/** What any route behind the keys may answer beside its own. */
const ALWAYS = refused('badInput', 'unauthorised', 'forbidden', 'tooMany', 'failed', 'unavailable');

/** And besides, where a body may come, though nothing be taken. */
const WITH_BODY = refused('tooLarge', 'unsupported');

/** Collects what there is from the routes that are registered after it. */
export function collectDocument(app: FastifyInstance): void {
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
      tags: ['Campaigns', 'Events', 'Lanes', 'Numbers', 'Operation'].map((name) => ({ name })),
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'A key of `volley keys create`' },
        },
      },
      security: [{ key: [] }],
    },
    transform(route) {
      const { schema, url } = jsonSchemaTransform(route);
      const { scope, takesUpload } = route.route.config ?? {};
      const own = { ...(scope && { 'x-scope': scope }), ...(takesUpload && { 'x-upload': true }) };
      return { url, schema: { ...schema, ...own } };
    },
    transformObject(collected) {
      const made = jsonSchemaTransformObject(collected) as OpenAPIV3_1.Document;
      for (const path of Object.values(made.paths ?? {})) {
        for (const [method, operation] of Object.entries(path ?? {})) {
          completed(operation as Operation, method);
        }
      }
      return withoutSpares(made);
    },
  });
}

/** Each shape with a name comes a second time, as what may be sent, and mostly nothing speaks of that one. */
function withoutSpares(made: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  const text = JSON.stringify(made);
  const isMeant = (name: string): boolean =>
    !name.endsWith('Input') || text.includes(`"#/components/schemas/${name}"`);
  const schemas = Object.fromEntries(
    Object.entries(made.components?.schemas ?? {}).filter(([name]) => isMeant(name)),
  );
  return { ...made, components: { ...made.components, schemas } };
}

type Operation = OpenAPIV3_1.OperationObject & { 'x-scope'?: string; 'x-upload'?: boolean };

/** Adds what the schemas of a route do not tell. */
function completed(operation: Operation, method: string): void {
  const isBehindKeys = operation['x-scope'] !== undefined;
  const refusals = {
    ...ANYWHERE,
    ...(isBehindKeys && ALWAYS),
    ...(isBehindKeys && method === 'post' && WITH_BODY),
  };
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  for (const [status, { description }] of Object.entries(refusals)) {
    operation.responses = { [status]: { description, content }, ...operation.responses };
  }
  if (
    operation['x-upload'] !== true ||
    operation.requestBody === undefined ||
    '$ref' in operation.requestBody
  )
    return;
  // A form has no body to the schema; whoever sends JSON sends an object.
  operation.requestBody.content['application/json'] = {
    schema: { $ref: `#/components/schemas/${campaignRequest.meta()?.id}` },
  };
  operation.requestBody.content['multipart/form-data'] = {
    schema: {
      type: 'object',
      required: ['campaign', 'recipients'],
      additionalProperties: false,
      properties: {
        campaign: { $ref: `#/components/schemas/${campaignOrder.meta()?.id}` },
        recipients: {
          type: 'string',
          contentMediaType: 'text/csv',
          description: 'The list, with a header line. It comes after `campaign`.',
        },
      },
    },
    encoding: { campaign: { contentType: 'application/json' }, recipients: { contentType: 'text/csv' } },
  };
}

/** The document, and a page that is made of it. Neither needs a key, and the page loads nothing from anywhere. */
export const document: Routes = (app) => {
  const written = (): OpenAPIV3_1.Document => app.swagger() as OpenAPIV3_1.Document;
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(JSON.stringify(written())),
  );
  app.get('/docs', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'")
      .send(documentPage(written(), PROBLEMS)),
  );
};
