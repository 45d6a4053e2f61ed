interface Polled<Value> {
  readonly subscribers: Set<(value: Value) => void>;
  reading: Promise<void> | null;
}

/** Reads values that many subscribers need: once per tick and id, however many subscribers there are. */
export function createSharedPoll<Value>(read: (id: string) => Promise<Value>, everyMs = 1_000) {
  const polled = new Map<string, Polled<Value>>();
  let ticking: NodeJS.Timeout | undefined;
  const poll = (id: string, one: Polled<Value>): void => {
    // Subscribers that arrive during a read share it.
    one.reading ??= read(id).then(
      (value) => {
        // Reset first: a subscriber that arrives from now on does not receive this value and needs a new read.
        one.reading = null;
        for (const onValue of one.subscribers) onValue(value);
      },
      () => {
        one.reading = null;
      },
    );
  };
  const stop = (): void => {
    clearInterval(ticking);
    ticking = undefined;
  };
  return {
    /** Calls `onValue` soon and at every tick until the returned function is called. A failed read is skipped. */
    subscribe(id: string, onValue: (value: Value) => void): () => void {
      const one = polled.get(id) ?? { subscribers: new Set(), reading: null };
      polled.set(id, one);
      one.subscribers.add(onValue);
      poll(id, one);
      ticking ??= setInterval(() => {
        for (const [each, its] of polled) poll(each, its);
      }, everyMs);
      return () => {
        one.subscribers.delete(onValue);
        if (one.subscribers.size === 0) polled.delete(id);
        if (polled.size === 0) stop();
      };
    },
    close(): void {
      stop();
      polled.clear();
    },
  };
}
