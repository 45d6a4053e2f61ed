import type { OpenAPIV3_1 } from 'openapi-types';
import type { z } from 'zod';
import { campaignOrder, campaignRequest } from '../campaign-request.js';
import { problemBody } from '../problem.js';
import { refused } from '../responses.js';

/**
 * An operation of the document, with the members of our own that a route adds (specification extensions, OpenAPI 3.1.0,
 * section 4.9): the scope that a key must have, if it takes a key, and whether a form with a list is taken.
 */
export type Operation = OpenAPIV3_1.OperationObject & {
  readonly 'x-scope'?: string;
  readonly 'x-upload'?: boolean;
};

/** What is answered at any address, before it is looked at. */
const ANYWHERE = refused('expectation');

/** What any route behind the keys may answer beside its own. */
const ALWAYS = refused('badInput', 'unauthorised', 'forbidden', 'tooMany', 'failed', 'unavailable');

/** And besides, where a body may come, though nothing be taken. */
const WITH_BODY = refused('tooLarge', 'unsupported');

const PROBLEM = { 'application/problem+json': { schema: named(problemBody) } };

/** Where a campaign is taken: a form has no body to the schema, and whoever sends JSON sends an object. */
const UPLOADED = {
  'application/json': { schema: named(campaignRequest) },
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['campaign', 'recipients'],
      additionalProperties: false,
      properties: {
        campaign: named(campaignOrder),
        recipients: {
          type: 'string',
          contentMediaType: 'text/csv',
          description: 'The list, with a header line. It comes after `campaign`.',
        },
      },
    },
    encoding: { campaign: { contentType: 'application/json' }, recipients: { contentType: 'text/csv' } },
  },
} as const satisfies Record<string, OpenAPIV3_1.MediaTypeObject>;

/**
 * Adds to an operation what the schemas of its route do not tell: the refusals that come before the route is reached, and
 * the form that it takes. What the route says itself of a status is left as it is. `method`: in small letters, as the
 * document has it.
 */
export function complete(operation: Operation, method: string): void {
  operation.responses = { ...refusalsBefore(operation, method), ...operation.responses };
  const { requestBody } = operation;
  if (operation['x-upload'] === true && requestBody !== undefined && !('$ref' in requestBody)) {
    Object.assign(requestBody.content, UPLOADED);
  }
}

function refusalsBefore(operation: Operation, method: string): OpenAPIV3_1.ResponsesObject {
  const isBehindKeys = operation['x-scope'] !== undefined;
  const refusals = {
    ...ANYWHERE,
    ...(isBehindKeys && ALWAYS),
    ...(isBehindKeys && method === 'post' && WITH_BODY),
  };
  return Object.fromEntries(
    Object.entries(refusals).map(([status, { description }]) => [status, { description, content: PROBLEM }]),
  );
}

/** A reference to what the document has by the name of this schema. */
function named(schema: z.ZodType): OpenAPIV3_1.ReferenceObject {
  return { $ref: `#/components/schemas/${schema.meta()?.id}` };
}
