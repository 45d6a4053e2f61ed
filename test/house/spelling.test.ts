import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CATALOGUE } from '../../src/base/events/catalogue.js';

/*
 * Each thing has one name over HTTP, in the library, and in `--json`. The files that these tests read are compared with what the code says in
 * test/golden.
 */

/** The names that a thing does not have, and the one that it has. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  recipient: 'to',
  numberColumn: 'toColumn',
  launchAt: 'sendAt',
  startsAt: 'sendAt',
  validForMs: 'validFor',
  lateMs: 'late',
  catchUpMs: 'catchUp',
  lifetimeMs: 'lifetime',
  overlapMs: 'overlap',
};

/** Lists, which are never counts. How many there are has a name of its own. */
const LISTS: Readonly<Record<string, string>> = {
  recipients: 'recipientCount',
  messages: 'counts',
  numbers: 'numberCount',
};

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

const read = (name: string): string =>
  readFileSync(new URL(`../golden/files/${name}`, import.meta.url), 'utf8');

const document: Json = JSON.parse(read('openapi.json'));

/** Every object in the document, with its path. */
function* objectsIn(part: unknown, path = '#'): Generator<{ path: string; part: Json }> {
  if (!isObject(part)) return;
  yield { path, part };
  for (const [name, inner] of Object.entries(part)) yield* objectsIn(inner, `${path}/${name}`);
}

/** Every member of every schema, with its path. */
function* members(): Generator<{ path: string; name: string; schema: unknown }> {
  for (const { path, part } of objectsIn(document))
    if (isObject(part['properties']))
      for (const [name, schema] of Object.entries(part['properties'])) yield { path, name, schema };
}

const operations = [...objectsIn(document['paths'])]
  .map(({ part }) => part)
  .filter((part): part is Json & { operationId: string } => typeof part['operationId'] === 'string');

/** The names of the parameters of an operation. */
const parametersOf = ({ parameters }: Json): unknown[] =>
  Array.isArray(parameters) ? parameters.map((one) => Object(one)['name']) : [];

describe('The OpenAPI document', () => {
  test('has operations and members', () => {
    expect(operations.length).toBeGreaterThan(40);
    expect([...members()].length).toBeGreaterThan(300);
  });

  test('has one name for each thing', () => {
    const others = [...members()].filter(({ name }) => Object.hasOwn(OTHER_NAMES, name));
    expect(others.map(({ path, name }) => `${path}/${name}: say ${OTHER_NAMES[name]}`)).toEqual([]);
  });

  test('uses the names of lists only for lists', () => {
    const counts = [...members()].filter(
      ({ name, schema }) =>
        Object.hasOwn(LISTS, name) &&
        isObject(schema) &&
        (schema['type'] === 'integer' || (isObject(schema['properties']) && 'total' in schema['properties'])),
    );
    expect(counts.map(({ path, name }) => `${path}/${name}: say ${LISTS[name]}`)).toEqual([]);
  });

  test('continues each list with `cursor`, and nothing else', () => {
    const wrong = operations.filter((operation) =>
      ['after', 'page', 'offset'].some((name) => parametersOf(operation).includes(name)),
    );
    expect(wrong.map(({ operationId }) => operationId)).toEqual([]);
    const paged = operations.filter((operation) => parametersOf(operation).includes('cursor'));
    expect(paged.length).toBeGreaterThan(4);
    for (const name of ['ResultPage', 'RecipientPage'])
      expect([...members()].map(({ path, name: member }) => `${path}/${member}`)).toContain(
        `#/components/schemas/${name}/nextCursor`,
      );
  });

  test('calls the time of an event and of an entry `createdAt`', () => {
    const named = [...members()].map(({ path, name }) => `${path}/${name}`);
    for (const schema of ['AuditEntry', 'SuppressionOperation']) {
      expect(named).toContain(`#/components/schemas/${schema}/createdAt`);
      expect(named).not.toContain(`#/components/schemas/${schema}/at`);
    }
    expect(named.filter((path) => path.endsWith('/time'))).toEqual([]);
  });

  test('calls the time of a campaign or message `sendAt`, and the rule of an outbox `sendRule`', () => {
    const named = [...members()].map(({ path, name }) => `${path}/${name}`);
    expect(named.filter((path) => path.endsWith('/at'))).toEqual([
      // When permits become free.
      '#/components/schemas/LaneStatus/properties/quota/properties/permitsToCome/items/at',
      // When something was read, a bucket begins, and its permits return.
      ...[
        'Ledger/at',
        'Ledger/properties/buckets/items/at',
        'Ledger/properties/permits/items/at',
        'ProgressSample/at',
        'Tick/at',
      ].map((path) => `#/components/schemas/${path}`),
    ]);
    for (const schema of ['OutboxInput', 'OutboxStatus']) {
      expect(named).toContain(`#/components/schemas/${schema}/sendRule`);
      expect(named).not.toContain(`#/components/schemas/${schema}/sendAt`);
    }
  });

  test('has durations as texts, without a unit in their names', () => {
    expect(
      [...members()].filter(({ name }) => name.endsWith('Ms')).map(({ path, name }) => `${path}/${name}`),
    ).toEqual([]);
    const durations = [...members()].filter(({ name }) =>
      /^(?:validFor|late|catchUp|took|grace)$/.test(name),
    );
    expect(durations.length).toBeGreaterThan(8);
    for (const { path, name, schema } of durations)
      expect(JSON.stringify(schema), `${path}/${name}`).toContain('string');
  });

  test('has a window as an object with hours, and its zone beside it', () => {
    const schemas = Object.fromEntries(
      [...objectsIn(document)].map(({ path, part }) => [path, part['properties']] as const),
    );
    const windows = [...members()].filter(({ name }) => /^(?:window|laneWindow)$/.test(name));
    expect(windows.length).toBeGreaterThan(8);
    for (const { path, name, schema } of windows) {
      expect(schemas[path.replace(/\/properties$/, '')] ?? schemas[path], path).toHaveProperty(
        name === 'window' ? 'zone' : 'laneZone',
      );
      expect([Object(schema)['type']].flat(), path).not.toContain('string');
    }
    const named = [...members()].map(({ path, name }) => `${path}/${name}`);
    expect(named).toContain('#/components/schemas/CampaignDetails/properties/window/hours');
    for (const schema of ['CampaignDetails', 'OutboxInput'])
      expect(named).not.toContain(`#/components/schemas/${schema}/except`);
  });
});

/** The members that a schema requires. The golden file says of a list that it repeats where it is. */
function requiredOf({ required }: Json): unknown[] {
  const [, path] = typeof required === 'string' ? (/^the same as #\/(.*)$/.exec(required) ?? []) : [];
  const list = path?.split('/').reduce<unknown>((part, name) => Object(part)[name], document) ?? required;
  return Array.isArray(list) ? list : [];
}

/** The members of the schemas of responses that a response may leave out, with their paths. */
function* leftOut(part: unknown, path: string, seen: Set<string>): Generator<string> {
  if (!isObject(part)) return;
  const { $ref: reference } = part;
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? '';
    if (seen.has(name)) return;
    seen.add(name);
    yield* leftOut(Object(Object(document['components'])['schemas'])[name], name, seen);
    return;
  }
  const { properties } = part;
  if (isObject(properties)) {
    const required = requiredOf(part);
    for (const [name, schema] of Object.entries(properties)) {
      if (!required.includes(name)) yield `${path}/${name}`;
      yield* leftOut(schema, `${path}/${name}`, seen);
    }
  }
  for (const name of ['items', 'anyOf', 'oneOf', 'allOf', 'additionalProperties']) {
    const inner = part[name];
    for (const one of Array.isArray(inner) ? inner : [inner]) yield* leftOut(one, path, seen);
  }
}

test('A response has every member: what is absent is null', () => {
  const seen = new Set<string>();
  const missing = operations.flatMap(({ operationId, responses }) =>
    [...objectsIn(responses)]
      .filter(({ path }) => path.endsWith('/schema'))
      .flatMap(({ part }) => [...leftOut(part, operationId, seen)])
      // The settings of a stored lane are those that it was given.
      .filter((path) => !path.startsWith('StoredLane/settings/')),
  );
  expect(seen.size).toBeGreaterThan(25);
  expect(missing).toEqual([]);
});

test('The declarations of the library have one name for each thing, no unit in a name, and times as texts', () => {
  const declarations = `${read('index.api.md')}${read('http.api.md')}`;
  const declared = declarations.matchAll(/^\s+(?:readonly )?(\w+)\??: (.*)$/gm);
  const wrong = [...declared].filter(
    ([, name = '', type = '']) =>
      Object.hasOwn(OTHER_NAMES, name) ||
      /Ms(?:[A-Z]|$)/.test(name) ||
      (/(?:At|Since|^now)$/.test(name) && /^(?:number;|z\.ZodInt)/.test(type)) ||
      (Object.hasOwn(LISTS, name) && /^(?:number|z\.ZodInt)\b/.test(type)),
  );
  expect(wrong.map(([line]) => line.trim())).toEqual([]);
});

test('A duration of an event is a text, without a unit in its name', () => {
  const fields = Object.entries(CATALOGUE).flatMap(([type, { fields: named }]) =>
    Object.keys(named).map((name) => `${type}/${name}`),
  );
  expect(fields.length).toBeGreaterThan(200);
  expect(fields.filter((name) => name.endsWith('Ms'))).toEqual([]);
});
