import { z } from 'zod';
import { isSession } from '../../../app/access/sessions.js';
import { serviceUrlOf } from '../../../base/config/index.js';
import type { ApiKey } from '../../../campaign/states/api-key.js';
import { allowsLane } from '../../../operations/access.js';
import type { HttpOptions, withZod } from '../route.js';
import { Problem } from '../server/problem.js';
import type { KeyCheck } from './access.js';
import { requireOwnHost, requireOwnPage } from './own-site.js';
import { sessionOf, setSession } from './session-cookie.js';

/** Longer texts are neither keys nor links. */
const text = z.string().min(1).max(200);
const body = z.union([z.strictObject({ key: text }), z.strictObject({ link: text })]);

/**
 * The session of a browser, for the console: `POST` begins one with an API key or the text of a sign-in link, `GET` returns what it allows (204:
 * there is none), and `DELETE` ends it. The key, the link, and the session never appear in an address.
 */
export function sessions(app: ReturnType<typeof withZod>, options: HttpOptions, keys: KeyCheck): void {
  const { volley, config } = options;
  const schema = { hide: true };
  app.addHook('onRequest', async (request) => {
    requireOwnHost(request, config);
    requireOwnPage(request, config);
  });

  app.post('/session', { schema: { ...schema, body } }, async (request, reply) => {
    const { body: given, ip } = request;
    const session =
      'link' in given
        ? await keys.tried(ip, given.link, () => volley.keys.signIn(given))
        : (await keys.admit(request, reply, given.key)) && (await volley.keys.signIn(given));
    if (session) keys.accepted(session);
    const key = session && (await keys.admit(request, reply, session));
    if (!session || !key)
      throw new Problem(
        'unauthorised',
        'link' in given
          ? 'The link was used already, or is older than ten minutes. `volley console` prints another.'
          : 'The API key is unknown, expired, or revoked. `volley keys list` lists the valid keys.',
      );
    const before = sessionOf(request, config);
    if (before !== undefined) await volley.keys.signOut(before);
    setSession(request, reply, config, session);
    return viewOf(options, key, session);
  });

  app.get('/session', { schema }, async (request, reply) => {
    const session = sessionOf(request, config);
    const key = session !== undefined && isSession(session) && (await keys.admit(request, reply, session));
    if (key) return viewOf(options, key, session);
    if (session !== undefined) setSession(request, reply, config, null);
    return reply.code(204).send();
  });

  app.delete('/session', { schema }, async (request, reply) => {
    const session = sessionOf(request, config);
    if (session !== undefined) await volley.keys.signOut(session);
    setSession(request, reply, config, null);
    return reply.code(204).send();
  });
}

/** What the console shows of a session. */
export type Session = Awaited<ReturnType<typeof viewOf>>;

async function viewOf({ volley, config }: HttpOptions, key: ApiKey, session: string) {
  const lanes = volley.knownLanes().filter(({ name }) => allowsLane(key, name));
  const simulated = await Promise.all(lanes.map(({ name }) => volley.isSimulated(name)));
  const { id, name, scopes, lanes: only } = key;
  return {
    ...{ id, name, scopes, lanes: only },
    expiresAt: await volley.keys.sessionEnd(session),
    simulator: simulated.length > 0 && simulated.every((one) => one),
    services: lanes.map((lane) => ({ lane: lane.name, host: hostOf(serviceUrlOf(config, lane)) })),
    /** What counts for campaigns and numbers that name none; null: nothing. */
    defaults: { sender: config.senderAddress ?? null, country: config.defaultCountry ?? null },
  };
}

const hostOf = (url: string | undefined): string | null => (url === undefined ? null : new URL(url).host);
