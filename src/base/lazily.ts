/** Makes something on first use, and then returns the same. */
export function lazily<Made>(make: () => Made): () => Made {
  let made: { value: Made } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** These methods of an object that `load` opens when one of them is called. Each returns a promise or rows. */
export const lazyMethods = <Service extends object, Name extends keyof Service & string>(
  load: () => Promise<Service>,
  names: readonly Name[],
): Pick<Service, Name> => {
  const call = (name: Name, ...args: unknown[]) =>
    later(load().then((service) => Object(service)[name](...args)));
  const methods: unknown = Object.fromEntries(names.map((name) => [name, call.bind(null, name)]));
  return methods as Pick<Service, Name>;
};

/** What a method returns later, as a promise and as rows: it is not known yet which of them it is. */
export function later(result: Promise<unknown>): unknown {
  // Who reads rows does not await it.
  result.catch(() => {});
  const steps = async (): Promise<AsyncIterator<unknown>> => {
    const rows = await result;
    if (!isIterable(rows)) throw new TypeError('the method returns no rows');
    return rows[Symbol.asyncIterator]();
  };
  const rows = {
    [Symbol.asyncIterator]() {
      const opened = steps();
      opened.catch(() => {});
      return {
        next: async () => (await opened).next(),
        return: async () => (await (await opened).return?.()) ?? { done: true, value: undefined },
      };
    },
  };
  return Object.assign(result, rows);
}

export function isIterable(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}
