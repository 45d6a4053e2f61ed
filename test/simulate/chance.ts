import { seededRandom } from '../../src/simulator/random.js';

/** Everything that is left to chance in one world, drawn from its seed in one order. */
export interface Chance {
  /** Uniform in [0, 1). */
  next(): number;
  is(probability: number): boolean;
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number;
  pick<Item>(list: readonly Item[]): Item;
  /** One of the choices, as often as its weight says. */
  weighted<Item>(choices: readonly (readonly [weight: number, item: Item])[]): Item;
}

export function chanceOf(seed: number): Chance {
  // Neighbouring seeds must not begin alike.
  const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1));
  const whole = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1));
  const at = <Item>(list: readonly Item[], index: number): Item => {
    const item = list[index];
    if (item === undefined) throw new RangeError('there is nothing to choose from');
    return item;
  };
  return {
    next: random,
    is: (probability) => random() < probability,
    whole,
    pick: (list) => at(list, whole(0, list.length - 1)),
    weighted(choices) {
      let left = random() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, item] of choices) {
        left -= weight;
        if (left < 0) return item;
      }
      return at(choices, choices.length - 1)[1];
    },
  };
}
