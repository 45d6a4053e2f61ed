/**
 * What was read last, at most so many by their names, because it is likely to be wanted again. Those who ask for one at
 * the same time share a reading; one that fails is not kept. Only for what never changes: nothing kept is read anew.
 */
export function atHand<Value>(most: number): (name: string, read: () => Promise<Value>) => Promise<Value> {
  const held = new Map<string, Promise<Value>>();
  return (name, read) => {
    const known = held.get(name);
    // What is used goes to the end: the first is then the one that was not used for longest.
    held.delete(name);
    const reading = known ?? read();
    held.set(name, reading);
    if (known === undefined) reading.catch(() => held.delete(name));
    const oldest = held.size > most ? held.keys().next().value : undefined;
    if (oldest !== undefined) held.delete(oldest);
    return reading;
  };
}
