import { describe, expect, test } from 'vitest';
import { API_SCOPES } from '../../src/campaign/api-key.js';
import { NoSuchLaneError } from '../../src/campaign/errors.js';
import { admit } from '../../src/operations/access.js';
import { OPERATIONS } from '../../src/operations/index.js';
import { isThere, type Operation } from '../../src/operations/operation.js';
import { scene } from '../scene/scene.js';
import { type Answer, sampleInput, sender } from './requests.js';

/*
 * What each operation that takes a lane does with one that does not exist, and with one that the key may not use. The requests are made from
 * the rows, so a new operation is tested as well.
 */

const { api, open } = scene('operations-named-lanes', {
  lanes: ['east', 'west'],
  settings: { SENDER_ADDRESS: 'ACME' },
});
const { key, origin } = await api();
const send = await sender(origin);
const all = await key();
const ofEast = await key(API_SCOPES, ['east']);

/** The member of the input that names a lane; undefined if none does. */
function laneMember({ access, http, input }: Operation): string | undefined {
  if ('lane' in input.shape || access.rule === 'lane') return 'lane';
  if (isThere(http)) return /^\w+ \/lanes\/\{(\w+)\}/.exec(http)?.[1];
  return undefined;
}

const TAKING_LANE = OPERATIONS.filter((operation) => laneMember(operation) !== undefined);

/** An input of an operation that is valid but for its lane. */
const inputOf = (operation: Operation, lane: string): Record<string, unknown> =>
  sampleInput(operation, { [laneMember(operation) ?? '']: lane });

/** The response to an operation on a lane. */
const ask = (operation: Operation, lane: string, as: string): Promise<Answer> =>
  send(operation, inputOf(operation, lane), as);

// With the addresses and credentials of the service, as on the command line.
const volley = open({ MESSAGING_BASE_URL: 'http://127.0.0.1:9', ALLOW_INSECURE: 'service' });

const isNoLane = ({ problem }: Answer): boolean => /^There is no lane /.test(problem.detail ?? '');

describe.each(
  TAKING_LANE.filter(({ http }) => isThere(http)).map((operation) => [operation.name, operation] as const),
)('Over HTTP, %s', (_, operation) => {
  test('refuses a lane that does not exist', async () => {
    const answer = await ask(operation, 'nowhere', all);
    expect(answer).toMatchObject({ status: 404, problem: { code: 'notFound' } });
    expect(answer.problem.detail).toMatch(
      /^There is no lane nowhere; the (configured )?lanes are: east and west\.$/,
    );
  });

  test('refuses a lane of another key as if it did not exist', async () => {
    const [foreign, unknown] = [
      await ask(operation, 'west', ofEast),
      await ask(operation, 'nowhere', ofEast),
    ];
    expect(JSON.stringify(foreign).replaceAll('west', 'nowhere')).toBe(JSON.stringify(unknown));
    if (operation.access.rule === 'all') expect(unknown).toMatchObject({ status: 403 });
    else {
      expect(unknown).toMatchObject({ status: 404, problem: { code: 'notFound' } });
      expect(unknown.problem.detail).toBe('There is no lane nowhere. The lanes of this key are: east.');
    }
  });

  test('accepts a lane that the key may use', async () => {
    // It would rename the lane.
    if (operation.access.rule === 'all') return;
    for (const answer of [await ask(operation, 'west', all), await ask(operation, 'east', ofEast)]) {
      expect(isNoLane(answer)).toBe(false);
      expect(answer.status, JSON.stringify(answer.problem)).not.toBe(403);
    }
  });
});

test.each(TAKING_LANE.map((operation) => [operation.name, operation] as const))(
  'On the command line and in the library, %s refuses a lane that does not exist',
  async (_, operation) => {
    const ran = async (lane: string): Promise<unknown> => {
      const input = inputOf(operation, lane) as never;
      const admitted = await admit<never>(operation.access, null, volley, input);
      const hooks = { lanes: admitted.lanes, found: admitted.found as never };
      if (operation.kind === 'feed') return operation.run(volley, admitted.input, hooks);
      const done = await operation.run(volley, admitted.input, hooks);
      if (operation.kind === 'rows') for await (const __ of done as AsyncIterable<unknown>);
      return done;
    };
    // No command follows events.
    if (operation.kind === 'feed') return;
    await expect(ran('nowhere')).rejects.toThrow(NoSuchLaneError);
  },
);

test('Operations take a lane in the query, in the path, and in the body', () => {
  const names = TAKING_LANE.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['listResults', 'holdLane', 'createCampaign', 'createKey']));
  expect(names.length).toBeGreaterThan(35);
});
