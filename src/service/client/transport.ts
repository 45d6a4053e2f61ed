import { startStopwatch, systemMachine } from '../../base/clock.js';
import type { Transport, TransportSettings } from './got-transport.js';

let gotTransport: ((settings: TransportSettings) => Transport) | undefined;

/**
 * A transport that uses got (see `got-transport.ts`). Loading got takes a tenth of a second, and most commands and users of the
 * library send no request, so it is loaded when the first transport is created. Throws a TypeError if the base URL is not valid.
 */
export function createTransport({ baseUrl, ...limits }: TransportSettings): Transport {
  const settings = { baseUrl: baseOf(baseUrl), ...limits };
  if (gotTransport !== undefined) return gotTransport(settings);
  const opening = import('./got-transport.js').then((loaded) => {
    gotTransport = loaded.gotTransport;
    return loaded.gotTransport(settings);
  });
  let opened: Transport | undefined;
  return {
    async exchange(request) {
      if (opened !== undefined) return opened.exchange(request);
      // The time to load got counts towards the request's timeout.
      const { isLate = () => false } = request;
      const age = startStopwatch(settings.clocks ?? systemMachine);
      opened = await opening;
      return opened.exchange({ ...request, isLate: () => isLate() || age() > settings.timeoutMs });
    },
    close: () => opened?.close(),
  };
}

/**
 * A base URL without trailing slashes. Throws a TypeError that says what is wrong: a user and password would replace the header
 * with the key, and a query would precede the path.
 */
function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('The base URL is not an http or https address.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      'The base URL contains a user, a password, a query, or a fragment: keep only host and path.',
    );
  }
  return url.href.replace(/\/+$/, '');
}
