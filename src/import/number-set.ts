/** The value of an empty slot; no phone number is 0. */
const EMPTY = 0;

/** Slots of a new set: 32 KB, enough for 3,000 numbers before it grows. */
const INITIAL_CAPACITY = 4096;

/** Load factor at which the set doubles: probes stay short, and a million numbers take 16 MB. */
const MAX_LOAD = 0.75;

/**
 * A set of E.164 numbers that takes 11 to 21 bytes per number; a `Set` of strings takes about 100. It is an open-addressing
 * table of doubles, which hold every integer of 15 digits exactly; E.164 allows no more.
 */
export class NumberSet {
  #slots = new Float64Array(INITIAL_CAPACITY);
  #size = 0;

  /**
   * Adds a number, `+` and at most 15 digits. Returns true if it is new. Throws a RangeError for anything else: the caller
   * must normalise numbers first.
   */
  add(number: string): boolean {
    const key = Number(number);
    if (!Number.isSafeInteger(key) || key <= 0) throw new RangeError(`Not an E.164 number: ${number}`);
    const slot = slotOf(this.#slots, key);
    if (this.#slots[slot] === key) return false;
    this.#slots[slot] = key;
    this.#size += 1;
    if (this.#size > this.#slots.length * MAX_LOAD) this.#grow();
    return true;
  }

  #grow(): void {
    const larger = new Float64Array(this.#slots.length * 2);
    for (const key of this.#slots) {
      if (key !== EMPTY) larger[slotOf(larger, key)] = key;
    }
    this.#slots = larger;
  }
}

/** The slot that holds `key`, or the empty one where it belongs. The table's length is a power of two. */
function slotOf(slots: Float64Array, key: number): number {
  const mask = slots.length - 1;
  let slot = hash(key) & mask;
  while (slots[slot] !== EMPTY && slots[slot] !== key) slot = (slot + 1) & mask;
  return slot;
}

/** Mixes all bits of the integer, because numbers of one list differ in few digits, often by one. */
function hash(key: number): number {
  const low = key >>> 0;
  const high = Math.floor(key / 0x1_0000_0000);
  let mixed = Math.imul(low ^ Math.imul(high, 0x9e37_79b1), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
