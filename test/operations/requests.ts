import type { OpenAPIV3_1 } from 'openapi-types';
import { z } from 'zod';
import { isThere, type Operation } from '../../src/operations/operation.js';
import { campaignRequest } from '../../src/surfaces/http/campaign-request.js';

/*
 * Makes requests for operations from their rows, so that a test of all operations covers a new one as well.
 */

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

/** An input of an operation that its schema accepts, with these values of members that it has. */
export function sampleInput(
  operation: Operation,
  values: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const schema = operation.kind === 'upload' ? campaignRequest : operation.input;
  const json = z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' });
  const members = resolved(json, json).properties ?? {};
  const given = Object.entries(values).flatMap(([name, value]) => {
    const member = members[name];
    if (member === undefined) return [];
    return [[name, typeof member === 'object' && member.type === 'array' ? [value] : value] as const];
  });
  // Its list may be the results of another campaign instead.
  const list = operation.kind === 'upload' ? { recipients: sampleOf(members['recipients'], json) } : {};
  return { ...list, ...(sampleOf(json, json) as Record<string, unknown>), ...Object.fromEntries(given) };
}

/** A response. */
export interface Answer {
  readonly status: number;
  /** If the response is a problem document. */
  readonly problem: { readonly code?: string; readonly detail?: string };
  /** The body; empty for a stream, which is not read. */
  readonly text: string;
}

/** Sends the request of an operation to a server, with an API key. */
export async function sender(origin: string) {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;
  return async (operation: Operation, input: Record<string, unknown>, key: string): Promise<Answer> => {
    const [method = '', path = ''] = isThere(operation.http) ? operation.http.split(' ') : [];
    const described = document.paths?.[`/v1${path}`]?.[method.toLowerCase() as 'get'];
    const placed = (place: string): string[] =>
      (described?.parameters ?? []).flatMap((each) =>
        'name' in each && each.in === place && each.name in input ? [each.name] : [],
      );
    const address = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(input[name])));
    const query = new URLSearchParams(
      placed('query').map((name): [string, string] => [name, String(input[name])]),
    );
    const inAddress = [...placed('query'), ...placed('path')];
    const rest = Object.entries(input).filter(([name]) => !inAddress.includes(name));
    const body = operation.body === undefined ? Object.fromEntries(rest) : input[operation.body];
    const isLines = operation.kind === 'rows' && operation.body !== undefined;
    const over = new AbortController();
    const reply = await fetch(`${origin}/v1${address}?${query}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(described?.requestBody && {
          'content-type': isLines ? 'application/x-ndjson' : 'application/json',
        }),
      },
      ...(described?.requestBody && { body: JSON.stringify(body) }),
      signal: over.signal,
    });
    const type = reply.headers.get('content-type') ?? '';
    const text = type.startsWith('text/event-stream') ? '' : await reply.text();
    over.abort();
    const problem = type.startsWith('application/problem+json') ? JSON.parse(text) : {};
    return { status: reply.status, problem, text };
  };
}
