import type { OpenAPIV3_1 } from 'openapi-types';

type Document = OpenAPIV3_1.Document;

/** A schema (JSON Schema 2020-12, as OpenAPI 3.1 has it), or a reference to one that has a name in the document. */
export type Schema = OpenAPIV3_1.SchemaObject | OpenAPIV3_1.ReferenceObject;

/** What a schema says of one thing, as people read it: plain text, nothing in it is escaped. */
export interface Member {
  /** Of a member within another: with the way to it, as `items[].line`. `…` stands for any name. */
  readonly name: string;
  /** Its type, its bounds, and its default; '' where the schema says nothing of it. */
  readonly type: string;
  readonly required: boolean;
  /** Its description, which may have `code` in it; '' where there is none. */
  readonly words: string;
}

/** Deeper than that the document itself is easier to read. */
const DEPTH = 2;

/** The thing of this name, of which the schema speaks. What has a description of its own needs not that of its shape. */
export function memberOf(
  document: Document,
  name: string,
  schema: Schema | undefined,
  required: boolean,
): Member {
  const words = schema?.description ?? resolved(document, schema)?.description ?? '';
  return { name, type: typeOf(document, schema), required, words };
}

/**
 * The members of an object, each followed by its own down to the third level, and last one for all names that the schema
 * does not list, if it says what they are. None of what is no object.
 */
export function membersOf(document: Document, schema: Schema | undefined): Member[] {
  return membersBelow(document, schema, '', 0);
}

function membersBelow(
  document: Document,
  given: Schema | undefined,
  before: string,
  depth: number,
): Member[] {
  const schema = resolved(document, given);
  if (schema === undefined || schema.properties === undefined) return [];
  const own = Object.entries(schema.properties).flatMap(([name, member]) => {
    const full = `${before}${name}`;
    const row = memberOf(document, full, member, schema.required?.includes(name) === true);
    if (depth >= DEPTH) return [row];
    const whole = resolved(document, member);
    const items = whole !== undefined && 'items' in whole ? whole.items : undefined;
    const inner =
      items === undefined
        ? membersBelow(document, member, `${full}.`, depth + 1)
        : membersBelow(document, items, `${full}[].`, depth + 1);
    return [row, ...inner];
  });
  const { additionalProperties: others } = schema;
  // An empty schema says no more than that others are let through.
  if (typeof others !== 'object' || Object.keys(others).length === 0) return own;
  return [...own, memberOf(document, `${before}…`, others, false)];
}

function resolved(document: Document, schema: Schema | undefined): OpenAPIV3_1.SchemaObject | undefined {
  if (schema === undefined || !('$ref' in schema)) return schema;
  return resolved(document, document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? '']);
}

function typeOf(document: Document, given: Schema | undefined): string {
  const schema = resolved(document, given);
  if (schema === undefined) return '';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) {
    return `${schema.enum.map((value) => JSON.stringify(value)).join(' | ')}${boundsOf(schema)}`;
  }
  const some = schema.anyOf ?? schema.oneOf;
  if (some !== undefined) return some.map((one) => typeOf(document, one)).join(' | ');
  if ('items' in schema) return `list of ${typeOf(document, schema.items) || 'anything'}`;
  return `${[schema.type ?? ''].flat().join(' | ')}${boundsOf(schema)}`;
}

/** What bounds it, and what it is where it is left out. */
function boundsOf({ minimum, maximum, maxLength, default: usual }: OpenAPIV3_1.SchemaObject): string {
  const bounds = [
    ...(minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
      ? [`${minimum} to ${maximum}`]
      : []),
    ...(maxLength === undefined ? [] : [`up to ${maxLength} letters`]),
    ...(usual === undefined ? [] : [`default ${usual}`]),
  ];
  return bounds.map((bound) => `, ${bound}`).join('');
}
