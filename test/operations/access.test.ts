import { describe, expect, test } from 'vitest';
import type { Volley } from '../../src/app/volley.js';
import { InputError, NoSuchLaneError, NotFoundError } from '../../src/campaign/errors/errors.js';
import type { ApiKey } from '../../src/campaign/states/api-key.js';
import {
  type Access,
  admit,
  allLanes,
  byConfiguredLanes,
  byLane,
  byLanesOfKey,
  byNamedLane,
  type Caller,
} from '../../src/operations/access.js';

const configured = ['east', 'west', 'north'];
const keyFor = (lanes: readonly string[] | null): Caller => ({
  key: { id: 'k', name: 'k', scopes: ['send'], lanes } as unknown as ApiKey,
  configured,
});
/** No rule of these asks it. */
const volley = {} as Volley;

interface Thing {
  readonly name: string;
  readonly lane?: string | undefined;
}
/** A thing of this name is on the lane `west`. */
const byThing: Access<Thing> = {
  rule: 'object',
  what: 'thing',
  member: 'name',
  lane: ({ lane }) => lane,
  async find(_volley, { name }, lanes) {
    if (name === 'thing' && (lanes === undefined || lanes.includes('west'))) return { lane: 'west' };
    throw new NotFoundError('there is no such thing; the things are: thing');
  },
};

describe('An operation that creates something on a lane', () => {
  const laneOf = async (caller: Caller | null, lane?: string) => {
    const { input, lanes } = await admit(byLane, caller, volley, { lane });
    return [input.lane, lanes];
  };

  test('takes the only lane of a key that names none, in its input as well', async () => {
    expect(await laneOf(keyFor(['west']))).toEqual(['west', ['west']]);
  });

  test('takes the only configured lane of a key that names none', async () => {
    expect(await laneOf(keyFor(['west', 'removed']))).toEqual(['west', ['west']]);
  });

  test('is refused for a key with several lanes that names none, and the error names only those', async () => {
    const refused = laneOf(keyFor(['east', 'west']));
    await expect(refused).rejects.toThrow(InputError);
    await expect(refused).rejects.toThrow(/east and west$/);
  });

  test('is refused for a key whose lanes are no longer configured', async () => {
    await expect(laneOf(keyFor(['removed']))).rejects.toThrow(InputError);
    await expect(laneOf(keyFor(['removed']), 'removed')).rejects.toThrow(NoSuchLaneError);
  });

  test('is refused on a lane that the key may not use', async () => {
    for (const lane of ['east', 'nowhere'])
      await expect(laneOf(keyFor(['west']), lane)).rejects.toThrow(NoSuchLaneError);
  });

  test('chooses the lane itself for callers who may use all and name none', async () => {
    expect(await laneOf(keyFor(null))).toEqual([undefined, undefined]);
    expect(await laneOf(null)).toEqual([undefined, undefined]);
    expect(await laneOf(keyFor(null), 'north')).toEqual(['north', ['north']]);
    await expect(laneOf(keyFor(null), 'nowhere')).rejects.toThrow(NoSuchLaneError);
  });
});

describe('An operation on an object', () => {
  const lanesOf = async (caller: Caller | null, name: string, lane?: string) =>
    (await admit(byThing, caller, volley, { name, lane })).lanes;

  test('runs on the lane of the object', async () => {
    for (const caller of [null, keyFor(null), keyFor(['west', 'east'])])
      expect(await lanesOf(caller, 'thing')).toEqual(['west']);
    expect(await lanesOf(keyFor(['west']), 'thing', 'west')).toEqual(['west']);
  });

  test('gets the object as the rule has read it', async () => {
    expect((await admit(byThing, keyFor(['west']), volley, { name: 'thing' })).found).toEqual({
      lane: 'west',
    });
    expect((await admit(byLanesOfKey, keyFor(['west']), volley, {})).found).toBeUndefined();
  });

  test('gives a key the same error for an object of another lane as for none', async () => {
    const errors = await Promise.all(
      [lanesOf(keyFor(['east']), 'thing'), lanesOf(keyFor(['west']), 'other')].map((each) =>
        each.catch((error: unknown) => String(error)),
      ),
    );
    expect(errors).toEqual([
      'NotFoundError: There is no thing thing.',
      'NotFoundError: There is no thing other.',
    ]);
  });

  test('is refused with a lane that the key may not use, whether or not the object is there', async () => {
    for (const lane of ['west', 'nowhere'])
      await expect(lanesOf(keyFor(['east']), 'thing', lane)).rejects.toThrow(NoSuchLaneError);
  });

  test('is not found on the lane that a key names, if it is on another', async () => {
    await expect(lanesOf(keyFor(null), 'thing', 'east')).rejects.toThrow('There is no thing thing.');
  });
});

test('A list covers the lanes of the key, or those that it names', async () => {
  const lanesOf = async (caller: Caller | null, lane?: string | readonly string[]) =>
    (await admit(byLanesOfKey, caller, volley, { lane })).lanes;
  expect(await lanesOf(keyFor(['east', 'west']))).toEqual(['east', 'west']);
  expect(await lanesOf(keyFor(['east', 'west']), 'west')).toEqual(['west']);
  expect(await lanesOf(keyFor(null), ['west', 'east'])).toEqual(['west', 'east']);
  await expect(lanesOf(keyFor(['east']), ['east', 'west'])).rejects.toThrow(NoSuchLaneError);
  expect(await lanesOf(keyFor(null))).toBeUndefined();
  await expect(lanesOf(keyFor(['east']), 'west')).rejects.toThrow(NoSuchLaneError);
});

test('A feed does not wait for events of a lane that is not configured', async () => {
  const lanesOf = async (caller: Caller | null, lane?: string) =>
    (await admit(byConfiguredLanes, caller, volley, { lane })).lanes;
  expect(await lanesOf(keyFor(null))).toBeUndefined();
  expect(await lanesOf(keyFor(null), 'east')).toEqual(['east']);
  await expect(lanesOf(keyFor(null), 'nowhere')).rejects.toThrow('there is no lane nowhere');
  await expect(lanesOf(keyFor(['east']), 'west')).rejects.toThrow(NoSuchLaneError);
});

test('A lane is known to the keys that may use it, and to the operator under names that the library checks', async () => {
  const lanesOf = async (caller: Caller | null, name: string) =>
    (await admit(byNamedLane, caller, volley, { name })).lanes;
  expect(await lanesOf(keyFor(['east']), 'east')).toEqual(['east']);
  expect(await lanesOf(keyFor(null), 'east')).toEqual(['east']);
  expect(await lanesOf(null, 'nowhere')).toEqual(['nowhere']);
  for (const name of ['west', 'nowhere'])
    await expect(lanesOf(keyFor(['east']), name)).rejects.toThrow(NoSuchLaneError);
  const missing = (key: Caller, name: string) => lanesOf(key, name).catch((error: unknown) => String(error));
  const all = [await missing(keyFor(null), 'nowhere'), await missing(keyFor(['removed']), 'removed')];
  expect(all).toEqual([
    'NoSuchLaneError: there is no lane nowhere; the configured lanes are: east, west, and north',
    'NoSuchLaneError: there is no lane removed; the configured lanes are: east, west, and north',
  ]);
});

test('An error lists at most ten lanes', async () => {
  const many = { ...keyFor(null), configured: Array.from({ length: 200 }, (_, at) => `lane-${at}`) };
  for (const refused of [
    admit(byLane, many, volley, { lane: 'no' }),
    admit(byNamedLane, many, volley, { name: 'no' }),
  ])
    await expect(refused).rejects.toThrow(/ lane-8, lane-9, and 190 more$/);
});

test('What covers all lanes is refused for a key that is limited to some', async () => {
  const access = allLanes('Metrics');
  expect((await admit(access, keyFor(null), volley, {})).lanes).toBeUndefined();
  await expect(admit(access, keyFor(configured), volley, {})).rejects.toThrow('Metrics cover all lanes');
});
