import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';

type Json = Readonly<Record<string, unknown>>;

/** A response, and the request that it answers. */
interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Its content type; empty if it has none. */
  readonly type: string;
  /** Empty if it has none. */
  readonly body: string;
}

/** Checks a response. Throws an assertion error. */
export type ResponseCheck = (exchange: Exchange) => void;

const LINES_TYPE = 'application/x-ndjson';
const JSON_TYPE = /^application\/(?:problem\+)?json$/;
const DOCUMENT = 'openapi';

/**
 * Checks responses against an OpenAPI document: the operation has the status with this content type, and the body has each member of
 * the schema, and no other, unless the schema says that it may have more.
 */
export function documentedBy(document: Json): ResponseCheck {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ ...document, $id: DOCUMENT });
  const validators = new Map<string, ValidateFunction>();
  const validatorAt = (place: readonly string[]): ValidateFunction => {
    const pointer = place.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
    // A schema with a name, such as that of problems, is compiled once for all places.
    const { $ref: named = `#/${pointer.join('/')}` } = Object(memberAt(document, place));
    const reference = `${DOCUMENT}${named}`;
    const validate = validators.get(reference) ?? ajv.compile({ $ref: reference });
    validators.set(reference, validate);
    return validate;
  };
  const paths = Object.entries(Object(document['paths']) as Readonly<Record<string, Json>>).map(
    ([template, operations]) => ({
      template,
      operations,
      pattern: new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`),
    }),
  );

  return ({ method, path, status, type: given, body }) => {
    const [at = ''] = path.split('?');
    const verb = method.toLowerCase();
    const known = paths
      .filter(({ pattern, operations }) => pattern.test(at) && Object.hasOwn(operations, verb))
      // `/v1/find` before `/v1/{id}`.
      .sort((a, b) => a.template.split('{').length - b.template.split('{').length)
      .at(0);
    if (known === undefined) return;
    const [type = ''] = given.split(';');
    const place = ['paths', known.template, verb, 'responses', String(status)];
    const what = `${method} ${known.template}: ${status} ${type}`;
    const described = memberAt(document, place);
    expect(described, `${what} is not documented`).toBeDefined();
    if (body === '' || type === '') return;
    const schema = [...place, 'content', type, 'schema'];
    expect(memberAt(document, schema), `${what} is not documented`).toBeDefined();
    const isLines = type === LINES_TYPE;
    if (!isLines && !JSON_TYPE.test(type)) return;
    const validate = validatorAt(isLines ? [...schema, 'contentSchema'] : schema);
    for (const text of isLines ? body.trimEnd().split('\n') : [body]) {
      validate(JSON.parse(text));
      const wrong = validate.errors?.map(
        ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
      );
      expect(wrong ?? [], `${what}\n${text.slice(0, 2_000)}`).toEqual([]);
    }
  };
}

function memberAt(document: unknown, [step, ...steps]: readonly string[]): unknown {
  if (step === undefined) return document;
  const found: unknown = Object(document)[step];
  if (typeof Object(found).$ref !== 'string') return memberAt(found, steps);
  return found;
}
