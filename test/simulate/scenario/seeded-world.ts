import { seededStreams } from '../random.js';
import type { WorldPlan } from '../world.js';
import { drawScenario } from './draw-scenario.js';

/** The world of a seed: what it is made of and what happens in it are drawn. */
export function seededWorld(seed: number): WorldPlan {
  const streams = () => seededStreams(seed);
  return { name: `seed ${seed}`, scenario: drawScenario(streams()), streams };
}

/** The worlds of `seeds` seeds: every `stride`-th one from `from` on. */
export function* seededWorlds(from: number, seeds: number, stride = 1): Iterable<WorldPlan> {
  for (let seed = from; seed < from + seeds * stride; seed += stride) yield seededWorld(seed);
}
