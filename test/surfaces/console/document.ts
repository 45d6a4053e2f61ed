import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/*
 * The OpenAPI document as the console needs it: without texts and problems, and with every part in full.
 */

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** The golden file of the document has a part that is repeated only once. This puts it back in place of each reference to it. */
function inFull(document: unknown): unknown {
  const parts = new Map<string, unknown>();
  const visit = (part: unknown, path: string): unknown => {
    const repeated = typeof part === 'string' ? /^the same as (#\/.*)$/.exec(part)?.[1] : undefined;
    if (repeated !== undefined) return parts.get(repeated);
    if (!isObject(part)) return part;
    const whole = Array.isArray(part)
      ? part.map((item, at) => visit(item, `${path}/${at}`))
      : Object.fromEntries(
          Object.entries(part).map(([name, item]) => [name, visit(item, `${path}/${name}`)]),
        );
    parts.set(path, whole);
    return whole;
  };
  return visit(document, '#');
}

/** An operation of the document with its method and path. */
export interface DocumentedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: Json & { readonly operationId: string };
}

const golden = readFileSync(new URL('../../golden/files/openapi.json', import.meta.url), 'utf8');

/** The OpenAPI document, with every part in full. */
export const openApi = inFull(JSON.parse(golden)) as {
  readonly paths: Readonly<Record<string, Json>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
};

/** The operations below `/v1`. */
export const documented: readonly DocumentedOperation[] = Object.entries(openApi.paths).flatMap(
  ([path, item]) =>
    path.startsWith('/v1/')
      ? Object.entries(item).map(([method, operation]) => ({
          method: method.toUpperCase(),
          path,
          operation: operation as DocumentedOperation['operation'],
        }))
      : [],
);

/** What the types of the console are generated from: requests, and responses that succeed. */
export function typedPart(): Json {
  const paths = documented.map(({ path, method, operation }) => {
    const { responses, 'x-scope': _scope, 'x-form': _form, ...rest } = operation;
    const succeed = Object.entries(responses as Json).filter(([status]) => status.startsWith('2'));
    return {
      path,
      method: method.toLowerCase(),
      operation: { ...rest, responses: Object.fromEntries(succeed) },
    };
  });
  const byPath: Record<string, Json> = {};
  for (const { path, method, operation } of paths) byPath[path] = { ...byPath[path], [method]: operation };
  return withoutTexts({
    openapi: '3.1.0',
    info: { title: 'Volley', version: '1' },
    paths: byPath,
    components: { schemas: openApi.components.schemas },
  }) as Json;
}

/** Headers and texts do not change the types. A member of a schema may be called like one of them. */
function withoutTexts(part: unknown, isNames = false): unknown {
  if (Array.isArray(part)) return part.map((item) => withoutTexts(item));
  if (!isObject(part)) return part;
  const left = Object.entries(part).filter(
    ([name]) => isNames || !['summary', 'headers', 'example', 'examples', 'pattern', 'tags'].includes(name),
  );
  return Object.fromEntries(
    left.map(([name, inner]) =>
      name === 'description' && !isNames
        ? [name, '']
        : [name, withoutTexts(inner, !isNames && (name === 'properties' || name === 'schemas'))],
    ),
  );
}

/** A digest of {@link typedPart}. The generated file names it. */
export const digestOf = (part: Json): string =>
  createHash('sha256').update(JSON.stringify(part)).digest('hex').slice(0, 16);

/** A schema that may be a reference, or the first alternative that is not null. */
export function schemaOf(schema: unknown): Json {
  if (!isObject(schema)) return {};
  const { $ref: reference, anyOf } = schema;
  if (typeof reference === 'string')
    return schemaOf(openApi.components.schemas[reference.split('/').at(-1) ?? '']);
  if (Array.isArray(anyOf)) return { ...schemaOf(anyOf.find((one) => one.type !== 'null')), ...schema };
  return schema;
}
