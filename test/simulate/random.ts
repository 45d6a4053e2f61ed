import { seededRandom } from '../../src/tools/simulator/rules/random.js';

/** A stream of random choices. */
export interface RandomStream {
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

/** The stream of each actor of a world. The same name always gives the same stream, which continues where it was. */
export type Streams = (actor: string) => RandomStream;

/** The streams of a seed. Each depends on the seed and the actor's name alone, so an actor that draws once more changes no other. */
export function seededStreams(seed: number): Streams {
  return remembered((actor) => streamFrom(seededRandom(hashOf(`${seed} ${actor}`))));
}

/**
 * The streams of a scripted world, in which nothing happens by chance: no chance comes true, of several choices the first is taken,
 * and numbers are the smallest ones.
 */
export function uneventfulStreams(): Streams {
  return remembered(() => ({
    next: () => 0.5,
    chance: (probability) => probability >= 1,
    integer: (min) => min,
    pick: (list) => itemAt(list, 0),
    weighted: (choices) => itemAt(choices, 0)[1],
  }));
}

function streamFrom(random: () => number): RandomStream {
  const integer = (min: number, max: number): number => min + Math.floor(random() * (max - min + 1));
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

function remembered(make: Streams): Streams {
  const streams = new Map<string, RandomStream>();
  return (actor) => {
    let stream = streams.get(actor);
    if (stream === undefined) {
      stream = make(actor);
      streams.set(actor, stream);
    }
    return stream;
  };
}

function itemAt<Item>(list: readonly Item[], index: number): Item {
  const item = list[index];
  if (item === undefined) throw new RangeError('cannot pick from an empty list');
  return item;
}

/** FNV-1a with a final mix, so that neighbouring seeds and similar names have unrelated streams. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
