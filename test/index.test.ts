import { expect, expectTypeOf, test } from 'vitest';
import type * as library from '../src/index.js';

type Volley = library.Volley;
type Told<Method extends (...given: never[]) => unknown> = Awaited<ReturnType<Method>>;

test('Every type in the library’s interface is exported by name', async () => {
  expect(await import('../src/index.js')).toHaveProperty('createVolley');
  expectTypeOf<Parameters<Volley['resolve']>[1]>().toEqualTypeOf<library.Resolution>();
  expectTypeOf<Told<Volley['resolve']>>().toEqualTypeOf<library.ResolveOutcome>();
  expectTypeOf<Told<Volley['workers']>>().toEqualTypeOf<library.WorkerProcess[]>();
  expectTypeOf<Told<Volley['fleetSnapshot']>>().toEqualTypeOf<library.FleetSnapshot>();
  expectTypeOf<Volley['notifications']>().toEqualTypeOf<library.NotificationService>();
  expectTypeOf<ReturnType<Volley['token']>>().toEqualTypeOf<library.TokenCache | null>();
  expectTypeOf<Told<library.TokenCache['show']>>().toEqualTypeOf<library.TokenState>();
  type Heard = Parameters<Parameters<Volley['events']['on']>[1]>[0];
  expectTypeOf<library.EventOf<'lane.stopped'>>().toExtend<Heard>();
});

test('An option that is there and undefined is as one that is not there', async () => {
  const { createVolley, loadConfig } = await import('../src/index.js');
  expect([createVolley, loadConfig].map((each) => typeof each)).toEqual(['function', 'function']);
  expectTypeOf<{ signal: undefined; onProgress: undefined }>().toExtend<Parameters<Volley['finished']>[1]>();
  expectTypeOf<{ state: undefined; limit: undefined }>().toExtend<Parameters<Volley['list']>[0]>();
  expectTypeOf<{ status: undefined }>().toExtend<Parameters<Volley['report']>[1]>();
  expectTypeOf<{ roles: undefined; concurrency: undefined }>().toExtend<Parameters<Volley['work']>[0]>();
});
