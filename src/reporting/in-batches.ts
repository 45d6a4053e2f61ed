/**
 * Maps a long list, `size` items at a time in parallel, and yields the results in the order of the list. A consumer that
 * stops early has caused at most `size - 1` calls too many.
 */
export async function* inBatches<Item, Result>(
  items: AsyncIterable<Item>,
  size: number,
  map: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield* await Promise.all(batch.map(map));
    batch = [];
  }
  yield* await Promise.all(batch.map(map));
}

/** A list, for what reads a longer one bit by bit. */
export async function* asyncOf<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
