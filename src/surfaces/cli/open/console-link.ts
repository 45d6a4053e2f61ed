import { localActor } from '../../../app/access/local-actor.js';
import { isThisMachine, type LocalConfig } from '../../../base/config/index.js';
import { CONSOLE_SCOPES } from '../../../campaign/states/api-key.js';
import { type Greeting, servingHttp, servingHttpAs } from '../../lifecycle.js';
import { badInput, CliError } from '../context/errors.js';

/** The addresses of a server that listens on all of its machine. */
const EVERYWHERE = ['0.0.0.0', '::'];

/**
 * The address of the console, without a path. `port`: the one on which the HTTP API listens; default: that of the settings. Throws if the settings
 * do not say under which address browsers reach it.
 */
export function consoleOrigin(
  { http: { consoleUrl, host, port: set } }: Pick<LocalConfig, 'http'>,
  port = set,
): string {
  if (consoleUrl !== undefined) return consoleUrl;
  if (port === 0)
    throw badInput(
      'HTTP_PORT is 0, so only the process that serves the console knows its port. Set HTTP_PORT, or CONSOLE_URL.',
    );
  if (EVERYWHERE.includes(host)) return `http://127.0.0.1:${port}`;
  if (!isThisMachine(host))
    throw badInput(
      `HTTP_HOST is ${host}, and browsers use the console only over https or on this machine. Set CONSOLE_URL to the address of the TLS proxy in front.`,
    );
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The link that signs in with this secret. Browsers send what follows the `#` to no server. */
export const consoleLink = (origin: string, secret: string): string => `${origin}/console/#signin=${secret}`;

/** What people read when the HTTP API listens: a link to the console for the user of this command. */
const greeting: Greeting = async (volley, config, address) => {
  try {
    const origin = consoleOrigin(config, Number(new URL(address).port));
    const { secret } = await volley.as(localActor('cli')).keys.createLink({ scopes: CONSOLE_SCOPES });
    return `The console; this link signs in once, within ten minutes:\n${consoleLink(origin, secret)}`;
  } catch (error) {
    // The API works all the same.
    return `There is no link to the console. ${error instanceof CliError ? error.message : '`volley console` prints one.'}`;
  }
};

/** Serves the HTTP API, and says how to open the console. Only on a terminal: elsewhere, what a process says is kept as a log. */
export const servingConsole = ({ stderr }: { readonly stderr: { readonly isTTY?: boolean } }) =>
  stderr.isTTY === true ? servingHttpAs(greeting) : servingHttp;
