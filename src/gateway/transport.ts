import type { Transport, TransportSettings } from './got-transport.js';

let gotTransport: ((settings: TransportSettings) => Transport) | undefined;

/**
 * A transport by got (see `got-transport.ts`). got takes a tenth of a second to load, and most commands and callers of
 * the library send no request, so it loads when the first transport is made.
 */
export function createTransport(settings: TransportSettings): Transport {
  if (gotTransport !== undefined) return gotTransport(settings);
  const opening = import('./got-transport.js').then((loaded) => {
    gotTransport = loaded.gotTransport;
    return loaded.gotTransport(settings);
  });
  let opened: Transport | undefined;
  return {
    async exchange(request) {
      if (opened !== undefined) return opened.exchange(request);
      // Loading counts as part of the request's time.
      const { latest = Number.POSITIVE_INFINITY } = request;
      const until = Math.min(latest, performance.now() + settings.timeoutMs);
      opened = await opening;
      return opened.exchange({ ...request, latest: until });
    },
    close: () => opened?.close(),
  };
}
