import { expect, test } from 'vitest';
import type { Volley } from '../../src/app/volley.js';
import { NoSuchLaneError } from '../../src/campaign/errors/errors.js';
import { admit } from '../../src/operations/access.js';
import type { Operation } from '../../src/operations/operation.js';
import { operationsScene } from './setting.js';
import { CASES, laneMember } from './table.js';

/*
 * Every operation as the command line and programs run it, without an API key.
 */

const { open, settings, receiver } = await operationsScene('operations-audit');
const volley = open(settings);
const place = { volley, lane: 'east', receiver };

/** The member with a lane. A feed is only on HTTP, which asks for a lane that is configured. */
const laneOf = (operation: Operation) => (operation.kind === 'feed' ? undefined : laneMember(operation));

/** Runs an operation as its row says. */
async function run(operation: Operation, input: object, acting: Volley): Promise<void> {
  const whole =
    operation.kind === 'upload' ? input : { ...operation.input.parse(input), ...limitOf(operation) };
  const admitted = await admit<never>(operation.access, null, acting, whole as never);
  // Only a caller with a key has one of its own.
  const key =
    operation.scope === 'any' ? await volley.keys.create({ name: 'own', scopes: ['send'] }) : undefined;
  const hooks = { key, lanes: admitted.lanes, found: admitted.found as never };
  const done = await operation.run(acting, admitted.input, hooks);
  if (operation.kind === 'rows') for await (const _ of done as AsyncIterable<unknown>);
}

const limitOf = (operation: Operation): object =>
  operation.kind === 'page' ? { limit: operation.limit.usual } : {};

test.each(CASES)(
  'The audit trail records of $name what the table says, and nothing of a lane that does not exist',
  async ({ operation, expected, name }) => {
    const input = await expected.input(place);
    const acting = volley.as({ kind: 'library', id: null, name });
    const member = laneOf(operation);
    if (member !== undefined) {
      const lane = Array.isArray(Object(input)[member]) ? ['nowhere'] : 'nowhere';
      await expect(run(operation, { ...input, [member]: lane }, acting)).rejects.toThrow(NoSuchLaneError);
    }
    await run(operation, input, acting);
    const { entries } = await volley.audit({ limit: 200 });
    const recorded = entries.filter(({ actor }) => actor?.name === name).map(({ action }) => action);
    expect(recorded).toEqual(expected.leaves === null ? [] : [expected.leaves]);
    // A surface relies on the row.
    expect(operation.audit ?? null).toBe(expected.leaves);
  },
);

test('Operations take a lane in the query, in the path, and in the body', () => {
  const names = CASES.filter(({ operation }) => laneOf(operation) !== undefined).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['listResults', 'holdLane', 'createCampaign', 'createKey']));
  expect(names.length).toBeGreaterThan(35);
});
