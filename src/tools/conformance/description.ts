import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ProfileName } from '../../base/profiles/index.js';
import { jsonOf } from '../../service/client/read-response.js';

/** The operations of the interface, as its description names them. */
export const OPERATIONS = [
  'send',
  'getDeliveryInfos',
  'createSubscription',
  'getSubscription',
  'deleteSubscription',
  'login',
  'refresh',
  'token',
] as const;
/** See {@link OPERATIONS}. */
export type Operation = (typeof OPERATIONS)[number];

/** What is checked of a response. `body`: null if it did not arrive complete. */
export interface CheckedReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string | null;
}

/** The responses that the interface documents. */
export interface InterfaceDescription {
  /** The documented statuses of an operation. */
  statusesOf(operation: Operation): readonly number[];
  /** What is wrong with a response, in a sentence without a full stop; null if it has the documented form. */
  problemOf(operation: Operation, reply: CheckedReply): string | null;
}

const response = z.object({
  $ref: z.string().optional(),
  headers: z.record(z.string(), z.unknown()).optional(),
  content: z.record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()) })).optional(),
});
type Response = z.infer<typeof response>;
const operation = z.object({
  operationId: z.enum(OPERATIONS),
  responses: z.record(z.string(), response),
});
const document = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.object({ responses: z.record(z.string(), response), schemas: z.unknown() }),
});

/** Of the members of a path, the others are no operations. */
const METHODS = new Set(['get', 'post', 'delete']);
/** Problems of one body that are named. */
const MOST_PROBLEMS = 3;

/** The file that describes the interface of a profile. */
const FILES: Readonly<Record<ProfileName, string>> = {
  v1: 'interface.openapi.yaml',
  v3: 'interface-v3.openapi.yaml',
};

const read = new Map<ProfileName, InterfaceDescription>();

/** The description of the interface (`docs/*.openapi.yaml`), which the build copies beside the compiled code. Read once. */
export function readInterfaceDescription(profile: ProfileName = 'v1'): InterfaceDescription {
  const known = read.get(profile) ?? parsedDescription(profile);
  read.set(profile, known);
  return known;
}

function parsedDescription(profile: ProfileName): InterfaceDescription {
  const file = new URL(`../../../docs/${FILES[profile]}`, import.meta.url);
  const { paths, components } = document.parse(parse(readFileSync(file, 'utf8')));
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  ajv.addSchema({ $id: 'interface', components });
  const responses = new Map<Operation, ReadonlyMap<number, Response>>();
  for (const item of Object.values(paths)) {
    for (const [method, found] of Object.entries(item)) {
      if (!METHODS.has(method)) continue;
      const data = operation.parse(found);
      const byStatus = Object.entries(data.responses).map(([status, own]) => {
        const shared = components.responses[own.$ref?.split('/').at(-1) ?? ''];
        return [Number(status), shared ?? own] as const;
      });
      responses.set(data.operationId, new Map(byStatus));
    }
  }
  const validators = new Map<object, ValidateFunction>();
  const validatorOf = (schema: object): ValidateFunction => {
    const known = validators.get(schema);
    if (known !== undefined) return known;
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"interface#/components/');
    const compiled = ajv.compile(JSON.parse(text));
    validators.set(schema, compiled);
    return compiled;
  };
  const statusesOf = (name: Operation): number[] => [...(responses.get(name)?.keys() ?? [])];

  return {
    statusesOf,
    problemOf(name, { status, headers, body }) {
      const documented = responses.get(name)?.get(status);
      if (documented === undefined)
        return `the status ${status} is not documented (${statusesOf(name).join(', ')})`;
      const missing = Object.keys(documented.headers ?? {}).find((each) => !headers[each.toLowerCase()]);
      if (missing !== undefined) return `the header ${missing} is missing`;
      if (body === null) return 'the body did not arrive complete';
      const schema = documented.content?.['application/json']?.schema;
      if (schema === undefined) return body === '' ? null : 'there is a body';
      // The bodies of errors are not shown: they may be anything.
      if (Object.keys(schema).length === 0) return null;
      const json = jsonOf(body);
      if (json === undefined) return 'the body is not JSON';
      if (!/\bjson\b/i.test(headers['content-type'] ?? ''))
        return `the Content-Type is ${headers['content-type'] ?? 'missing'}, not application/json`;
      const validate = validatorOf(schema);
      return validate(json) ? null : problemsIn(validate.errors ?? []);
    },
  };
}

/** The problems that the validator found, without the values, which may be numbers or tokens. */
function problemsIn(errors: readonly ErrorObject[]): string {
  const texts = errors.map(({ instancePath, keyword, message = 'is not valid', params }) => {
    const at = instancePath === '' ? 'the body' : instancePath.slice(1).replaceAll('/', '.');
    if (keyword === 'enum' && Array.isArray(params['allowedValues']))
      return `${at} must be one of ${params['allowedValues'].join(', ')}`;
    return `${at} ${message}`;
  });
  const more = texts.length - MOST_PROBLEMS;
  return `${texts.slice(0, MOST_PROBLEMS).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}
