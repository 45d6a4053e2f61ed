/**
 * Asks about the items of a long list some at a time, and gives the answers in the order of the list. Whoever stops
 * reading has asked about at most `atOnce` items too many.
 */
export async function* ahead<Item, Answer>(
  items: AsyncIterable<Item>,
  atOnce: number,
  ask: (item: Item) => Promise<Answer>,
): AsyncGenerator<Answer> {
  let some: Item[] = [];
  for await (const item of items) {
    some.push(item);
    if (some.length < atOnce) continue;
    yield* await Promise.all(some.map(ask));
    some = [];
  }
  yield* await Promise.all(some.map(ask));
}
