import { z } from 'zod';
import { OPERATIONS } from '../../../operations/index.js';
import { isThere, type Operation } from '../../../operations/operation.js';
import { campaignRequest, idempotencyHeader } from '../bodies/campaign-request.js';
import { schemaOf } from './operation-schema.js';

/*
 * What the console knows about operations before it runs them: where they are, who may run them, and what they take. The build writes it to
 * a file that the page imports (write-console.ts), because the rows themselves need a server.
 */

/** The JSON Schema of a part of a request, or of a member, as far as a form needs it. */
interface Member {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly description?: string;
  readonly default?: unknown;
  readonly items?: Member;
  readonly anyOf?: readonly Member[];
}

/** The operations of the HTTP API, by their names. */
export const consoleCommands = (): Readonly<Record<string, object>> =>
  Object.fromEntries(
    OPERATIONS.flatMap((operation) => {
      if (!isThere(operation.http)) return [];
      const [method = '', path = ''] = operation.http.split(' ');
      return [[operation.name, commandOf(operation, method, path)] as const];
    }),
  );

function commandOf(operation: Operation, method: string, path: string): object {
  const { summary, description, scope, access, button } = operation;
  const { params, querystring, headers, body } = schemasOf(operation, method, path);
  return {
    title: summary,
    method,
    path: `/v1${path}`,
    scope,
    ...(button && { button: { label: button.label, tone: button.tone } }),
    ...(button?.asks && { question: description }),
    ...(access.rule === 'all' && { allLanes: true }),
    fields: {
      ...fieldsIn('query', querystring),
      ...fieldsIn('path', params),
      ...fieldsIn('header', headers),
      ...fieldsIn('body', body),
    },
  };
}

function schemasOf(operation: Operation, method: string, path: string) {
  const schemas = schemaOf(operation, method, path);
  if (operation.kind !== 'upload') return schemas;
  return {
    ...schemas,
    headers: operation.creates && idempotencyHeader,
    body: operation.isForm ? undefined : campaignRequest,
  };
}

/** The members of a part of a request. */
function fieldsIn(place: string, schema: unknown): Readonly<Record<string, object>> {
  if (!(schema instanceof z.ZodType)) return {};
  const whole = z.toJSONSchema(z.strictObject({ part: schema }), { io: 'input', unrepresentable: 'any' });
  const memberOf = (member: unknown): Member => {
    const { $ref, ...own } = Object(member) as Member & { readonly $ref?: string };
    if ($ref !== undefined) return { ...memberOf(whole.$defs?.[$ref.slice('#/$defs/'.length)]), ...own };
    const other = own.anyOf?.find(({ type }) => type !== 'null');
    return { ...(other && memberOf(other)), ...own };
  };
  const { properties = {}, required = [] } = memberOf(whole.properties?.['part']);
  return Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [
      place === 'header' ? spelled(name) : name,
      { in: place, ...(required.includes(name) && { required: true }), ...fieldOf(memberOf(member)) },
    ]),
  );
}

/** `idempotency-key` → `Idempotency-Key` */
const spelled = (header: string): string =>
  header.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()).replace('-Id', '-ID');

/** How a field is written, and its limits. */
function fieldOf(member: Member): object {
  const { type, enum: names, minimum, maximum, maxLength, description, items, default: usual } = member;
  const several = type === 'array' ? items?.enum : undefined;
  return {
    type: names ? 'name' : several ? 'names' : (type ?? 'string'),
    ...((names ?? several) && { names: names ?? several }),
    ...(minimum !== undefined && { from: minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { to: maximum }),
    ...(maxLength !== undefined && { length: maxLength }),
    ...(usual !== undefined && { usual }),
    ...(description !== undefined && { about: description }),
  };
}
