import type { Events } from '../../../src/base/events/events.js';
import type { World } from '../world.js';

/** What a process logs: some of it is counted or checked, and all of it is in the trace. */
export function processEvents(world: World, name: string): Events {
  return {
    hide: () => {},
    emit: (event) => {
      const { trace } = world;
      if (event.type === 'request.matched') world.count('requests matched by a notification');
      if (event.type === 'request.confirmed') world.count('requests confirmed after a notification');
      if (event.type === 'workers.lost') world.workersLost(event.processes.split(' '));
      if (event.type === 'notifications.failed') world.broken(`${name}: notifications`, event.error);
      if (trace.isWanted)
        trace.add(
          name,
          JSON.stringify(event, (_, value) => (value instanceof Error ? value.message : value)),
        );
    },
    on: () => () => {},
    onAny: () => () => {},
    next: () => new Promise(() => {}),
  };
}
