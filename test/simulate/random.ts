import { seededRandom } from '../../src/tools/simulator/random.js';

/** The random choices of one world. The seed fixes them, so every draw must stay in the same order. */
export interface SeededRandom {
  /** Uniform in [0, 1). */
  next(): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  pick<Item>(list: readonly Item[]): Item;
  /** One of the choices, each as likely as its share of the weights. */
  weighted<Item>(choices: readonly (readonly [weight: number, item: Item])[]): Item;
}

export function randomFrom(seed: number): SeededRandom {
  // The multiplication keeps neighbouring seeds from starting with similar draws.
  const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1));
  const integer = (min: number, max: number): number => min + Math.floor(random() * (max - min + 1));
  const itemAt = <Item>(list: readonly Item[], index: number): Item => {
    const item = list[index];
    if (item === undefined) throw new RangeError('cannot pick from an empty list');
    return item;
  };
  return {
    next: random,
    chance: (probability) => random() < probability,
    integer,
    pick: (list) => itemAt(list, integer(0, list.length - 1)),
    weighted(choices) {
      let left = random() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, item] of choices) {
        left -= weight;
        if (left < 0) return item;
      }
      return itemAt(choices, choices.length - 1)[1];
    },
  };
}
