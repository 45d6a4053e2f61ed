import type { Outbox } from './outbox-methods.js';
import type { OutboxChoice, Outboxes } from './outboxes.js';

type Opened = Outboxes & { open(name: string, choice?: OutboxChoice): Outbox };

/** The outboxes that `load` opens. It is called on first use: most commands need none of the code. */
export function lazyOutboxes(load: () => Promise<Opened>): Opened {
  let loading: Promise<Opened> | undefined;
  const loaded = (): Promise<Opened> => {
    loading ??= load();
    return loading;
  };
  return {
    put: async (input, options) => (await loaded()).put(input, options),
    previewPut: async (input, options) => (await loaded()).previewPut(input, options),
    create: async (input) => (await loaded()).create(input),
    list: async (options) => (await loaded()).list(options),
    page: async (options) => (await loaded()).page(options),
    laneOf: async (name, choice) => (await loaded()).laneOf(name, choice),
    open(name, choice) {
      let opening: Promise<Outbox> | undefined;
      const opened = (): Promise<Outbox> => {
        opening ??= loaded().then((all) => all.open(name, choice));
        return opening;
      };
      return {
        set: async (changes, options) => (await opened()).set(changes, options),
        previewSet: async (changes, options) => (await opened()).previewSet(changes, options),
        put: async (message) => (await opened()).put(message),
        problems: async (message) => (await opened()).problems(message),
        async *putAll(messages) {
          yield* (await opened()).putAll(messages);
        },
        async *import(list, columns) {
          yield* (await opened()).import(list, columns);
        },
        cancel: async (id, options) => (await opened()).cancel(id, options),
        async *cancelSome(which) {
          yield* (await opened()).cancelSome(which);
        },
        cancelAll: async () => (await opened()).cancelAll(),
        message: async (id) => (await opened()).message(id),
        status: async () => (await opened()).status(),
        waiting: async (options) => (await opened()).waiting(options),
        messages: async (options) => (await opened()).messages(options),
        async *report() {
          yield* (await opened()).report();
        },
        pause: async () => (await opened()).pause(),
        resume: async () => (await opened()).resume(),
        delete: async () => (await opened()).delete(),
        close: async () => (await opened()).close(),
        resolve: async (resolution) => (await opened()).resolve(resolution),
      };
    },
  };
}
