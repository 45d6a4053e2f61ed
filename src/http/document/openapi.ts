import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { OpenAPIV3_1 } from 'openapi-types';
import { version } from '../../version.js';
import { complete, type Operation } from './operation.js';

const DESCRIPTION = `Bulk SMS campaigns: never over the hourly quota, never a text sent twice, every recipient accounted for.

Each request under /v1 carries a key, \`Authorization: Bearer vk_…\`, made by \`volley keys create\`, with some of the scopes
\`read\`, \`send\` and \`operate\`. Errors are \`application/problem+json\` (RFC 9457) and name what is wrong and where.`;

/**
 * Collects the document (OpenAPI 3.1.0) from the schemas of the routes that are registered on the app after this: those
 * before it are not in it, nor is one whose schema says `hide`. {@link writtenDocument} has it when the app is ready.
 */
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
          complete(operation as Operation, method);
        }
      }
      return withoutSpares(made);
    },
  });
}

/** The document of an app that is ready, put together at the first call. Throws while the app is not. */
export function writtenDocument(app: FastifyInstance): OpenAPIV3_1.Document {
  return app.swagger() as OpenAPIV3_1.Document;
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
