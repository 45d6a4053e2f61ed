import fc from 'fast-check';
import type { OpenAPIV3_1 } from 'openapi-types';
import { codePoint } from '../../../base/code-point.js';

/** A request that is valid HTTP and may otherwise be invalid in any way. */
export interface Malformed {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

type Schema = OpenAPIV3_1.SchemaObject | OpenAPIV3_1.ReferenceObject | boolean | undefined;

/** Values in many of the requests that must never appear in the log. */
export const SECRETS = ['447700900123', 'hunter2'] as const;

const NASTY = [
  '',
  ' ',
  '\0',
  '../../etc/passwd',
  "' OR 1=1 --",
  '{{name}}',
  '{{#a}}',
  '{{{',
  '__proto__',
  'constructor',
  'undefined',
  'null',
  'NaN',
  '-1',
  '1e999',
  '0x10',
  '9'.repeat(400),
  'ü'.repeat(200),
  '\ud800',
  '😀'.repeat(50),
  '+447700900123',
  'tel:+447700900123',
  'password=hunter2',
  'Bearer hunter2hunter2',
  '%00',
  '\u202e',
];

/** Valid values by the name of the member. */
const USUAL: Readonly<Record<string, readonly string[]>> = {
  at: ['2999-01-01T00:00:00Z', '2999-01-01T00:00:00+01:00'],
  country: ['GB'],
  lane: ['default'],
  message: ['Hi {{to}}', 'Hi'],
  number: ['+447700900123'],
  sender: ['ACME', '447700900123'],
  to: ['+447700900123', '+447700900124', '+447700900125'],
  validFor: ['24h'],
  maxCost: ['50', '0.01 EUR'],
};
const OTHERS = ['+447700900123', 'Spring', 'to'];

const nastyText = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: codePoint }),
);
const anything = fc.oneof(
  nastyText,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
  fc.constant({}),
  fc.jsonValue({ maxDepth: 4 }),
);

/** Mostly values that match a schema, and sometimes others. */
function valueFor(
  document: OpenAPIV3_1.Document,
  schema: Schema,
  depth = 0,
  name = '',
): fc.Arbitrary<unknown> {
  const wrong = { arbitrary: anything, weight: 1 };
  const right = (arbitrary: fc.Arbitrary<unknown>) => fc.oneof({ arbitrary, weight: 25 }, wrong);
  if (schema === undefined || typeof schema === 'boolean' || depth > 6) return anything;
  if ('$ref' in schema) {
    const referred = schema.$ref.split('/').at(-1) ?? '';
    return valueFor(document, document.components?.schemas?.[referred], depth + 1);
  }
  const some = schema.anyOf ?? schema.oneOf;
  if (some !== undefined)
    return fc.oneof(...some.map((one) => valueFor(document, one, depth + 1, name)), anything);
  if (schema.enum !== undefined) return right(fc.constantFrom(...schema.enum));
  if (schema.const !== undefined) return right(fc.constant(schema.const));
  if ('items' in schema) {
    return right(fc.array(valueFor(document, schema.items, depth + 1), { maxLength: 5 }));
  }
  if (schema.properties !== undefined) {
    const members = Object.fromEntries(
      Object.entries(schema.properties).map(([of, member]) => [
        of,
        valueFor(document, member, depth + 1, of),
      ]),
    );
    const more = fc.dictionary(nastyText, anything, { maxKeys: 2 });
    const required = schema.required ?? [];
    const own = fc.record(members, { requiredKeys: required });
    // With every optional member, the chance falls that all of them are valid.
    const shortest = fc.record(
      Object.fromEntries(Object.entries(members).filter(([of]) => required.includes(of))),
    );
    return right(
      fc.oneof(
        { arbitrary: shortest, weight: 4 },
        { arbitrary: own, weight: 4 },
        { arbitrary: fc.tuple(own, more).map(([a, b]) => ({ ...b, ...a })), weight: 1 },
        { arbitrary: fc.record(members, { requiredKeys: [] }), weight: 1 },
      ),
    );
  }
  switch (schema.type) {
    case 'string':
      return right(
        fc.oneof({ arbitrary: fc.constantFrom(...(USUAL[name] ?? OTHERS)), weight: 30 }, nastyText),
      );
    case 'integer':
    case 'number':
      return right(fc.oneof(fc.integer({ min: 0, max: 300 }), fc.double()));
    case 'boolean':
      return right(fc.boolean());
    case 'object':
      return right(
        fc.dictionary(
          fc.string({ maxLength: 10 }),
          valueFor(document, schema.additionalProperties, depth + 1),
          { maxKeys: 3 },
        ),
      );
    default:
      return anything;
  }
}

/** JSON text, sometimes truncated, sometimes not JSON. */
function jsonText(value: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer> {
  const text = value.map((json) => Buffer.from(JSON.stringify(json) ?? 'null'));
  return fc.oneof(
    { arbitrary: text, weight: 8 },
    {
      arbitrary: fc
        .tuple(text, fc.double({ min: 0, max: 1, noNaN: true }))
        .map(([whole, share]) => whole.subarray(0, Math.floor(whole.length * share))),
      weight: 1,
    },
    { arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)), weight: 1 },
    {
      arbitrary: fc
        .constantFrom('{"__proto__":{"a":1}}', `${'['.repeat(5_000)}`, '{"a":1,"a":2}', '"', '\ufeff{}')
        .map((json) => Buffer.from(json)),
      weight: 1,
    },
  );
}

const csvText = fc.oneof(
  fc.constantFrom(
    'phone\n+447700900123\n',
    'a,b\n1\n',
    'phone\n"',
    '\0',
    'PK\x03\x04',
    'sep=;\n',
    '\xff\xfe',
  ),
  fc.string({ maxLength: 100 }),
  fc
    .array(
      fc.array(nastyText, { maxLength: 4 }).map((fields) => fields.join(',')),
      { maxLength: 6 },
    )
    .map((lines) => lines.join('\n')),
);

/** A form with valid or other parts, complete or not. */
function formText(order: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const part = fc.tuple(
    fc.oneof(fc.constantFrom('campaign', 'recipients', '__proto__', 'toString', ''), nastyText),
    fc.boolean(),
    fc.oneof(
      order,
      csvText.map((text) => Buffer.from(text)),
    ),
  );
  const usual = fc
    .tuple(order, csvText)
    .map(([campaign, csv]) => [
      ['campaign', false, campaign] as const,
      ['recipients', true, Buffer.from(csv)] as const,
    ]);
  return fc
    .tuple(
      fc.oneof({ arbitrary: usual, weight: 3 }, { arbitrary: fc.array(part, { maxLength: 4 }), weight: 1 }),
      fc.constantFrom('--\r\n', '\r\n', '', '--'),
    )
    .map(([parts, end]) => {
      const pieces = parts.flatMap(([name, isFile, body]) => [
        Buffer.from(
          `--edge\r\nContent-Disposition: form-data; name="${name.replace(/[\r\n"]/g, '')}"${isFile ? '; filename="a.csv"' : ''}\r\n\r\n`,
        ),
        body,
        Buffer.from('\r\n'),
      ]);
      return Buffer.concat([...pieces, Buffer.from(`--edge${end}`)]);
    });
}

/** The characters that Node allows in a request header. */
const headerText = fc.oneof(nastyText, fc.string()).map((text) => text.replace(/[^\t\x20-\x7e]/g, '?'));

/**
 * Requests to the operations of an OpenAPI document, each invalid in some way. They use the API keys `keys` and the campaigns
 * `ids`.
 */
export function malformedRequests(
  document: OpenAPIV3_1.Document,
  keys: readonly string[],
  ids: readonly string[],
): fc.Arbitrary<Malformed> {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item ?? {}).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as OpenAPIV3_1.OperationObject,
    })),
  );
  // So that some lists are valid, however many operations there are.
  const withList = operations.filter(({ operation: { requestBody } }) =>
    Boolean(requestBody && 'content' in requestBody && requestBody.content['multipart/form-data']),
  );
  const drawn = fc.oneof(
    { arbitrary: fc.constantFrom(...operations), weight: 9 },
    { arbitrary: fc.constantFrom(...withList), weight: 1 },
  );
  return drawn.chain(({ path, method, operation }) => {
    const parameters = (operation.parameters ?? []).flatMap((one) => ('$ref' in one ? [] : [one]));
    const body =
      operation.requestBody !== undefined && 'content' in operation.requestBody
        ? operation.requestBody.content
        : {};
    const json = jsonText(valueFor(document, body['application/json']?.schema as Schema));
    const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
    const query = fc.array(fc.tuple(fc.oneof(fc.constantFrom('limit', ...names), nastyText), nastyText), {
      maxLength: 3,
    });
    const segment = fc.oneof(fc.constantFrom('default', ...ids), nastyText);
    const type = fc.constantFrom(
      'application/json',
      'application/json',
      'application/json; charset=utf-16',
      'multipart/form-data; boundary=edge',
      'multipart/form-data',
      'text/csv',
      'text/plain',
      'a',
      '',
    );
    const bytes = 'multipart/form-data' in body ? fc.oneof(json, formText(json)) : json;
    const key = fc.oneof(
      { arbitrary: fc.constantFrom(...keys).map((one) => `Bearer ${one}`), weight: 8 },
      { arbitrary: headerText, weight: 1 },
      { arbitrary: headerText.map((text) => `Bearer ${text}`), weight: 1 },
    );
    const extra = fc.dictionary(
      fc.constantFrom(
        'idempotency-key',
        'last-event-id',
        'accept',

        'range',
        'if-none-match',
        'cookie',
        'x-forwarded-for',
      ),
      headerText,
      { maxKeys: 3 },
    );
    return fc
      .record({
        method: fc.oneof(
          { arbitrary: fc.constant(method), weight: 9 },
          {
            arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'),
            weight: 1,
          },
        ),
        segment,
        raw: fc.boolean(),
        query,
        key,
        extra,
        type,
        bytes,
        hasBody: fc.boolean(),
        expects: fc.integer({ min: 0, max: 99 }).map((at) => at === 0),
      })
      .map((drawn): Malformed => {
        const step = drawn.raw ? drawn.segment.replace(/[^\x21-\x7e]|[?#]/g, '%') : encoded(drawn.segment);
        const search = drawn.query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
        const takesBody = drawn.hasBody && !['GET', 'HEAD', 'OPTIONS'].includes(drawn.method);
        // Most bodies match their content type.
        const isForm = drawn.bytes.subarray(0, 6).toString() === '--edge';
        const usual = isForm ? 'multipart/form-data; boundary=edge' : 'application/json';
        const contentType = drawn.raw ? drawn.type : usual;
        return {
          method: drawn.method,
          path: `${path.replace(/\{\w+\}/, step)}${search === '' ? '' : `?${search}`}`,
          headers: {
            authorization: drawn.key,
            ...drawn.extra,
            ...(drawn.expects ? { expect: drawn.segment.replace(/[^\x20-\x7e]/g, '?') } : {}),
            ...(takesBody && contentType !== '' ? { 'content-type': contentType } : {}),
          },
          body: takesBody ? drawn.bytes : undefined,
        };
      });
  });
}

/** An address cannot contain a lone surrogate. */
function encoded(text: string): string {
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/g, '?'));
}
