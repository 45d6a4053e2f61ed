import { readdir, readFile } from 'node:fs/promises';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import { requireOwnHost } from '../access/own-site.js';
import { addressLimit } from '../limits/address-limits.js';
import type { Routes } from '../route.js';
import { noRoute, Problem } from '../server/problem.js';
import { pagePolicy } from '../server/standard-headers.js';

/** What `npm run build` makes of `src/surfaces/console/`. */
const BUILT = fileURLToPath(new URL('../../console', import.meta.url));
/** The names of these files contain a digest of what is in them. */
const HASHED = 'assets/';

const POLICY = pagePolicy({ form: "'self'" });

/**
 * The operator console at `/console/`: a page without secrets, the same for everyone. Its screens are addresses below it, which the page
 * itself tells apart. What it shows comes from `/v1`, which requires a session.
 */
export const consolePage: Routes = (app, { config, consoleFolder = BUILT, mountedAt = '' }) => {
  const schema = { hide: true };
  const limit = addressLimit(config.http.requestsPerMinute);
  let built: Promise<ReadonlySet<string>> | undefined;
  let page: Promise<string> | undefined;
  // The files of a package all have the same time, so a date or an ETag would not tell two versions of a page apart.
  app.register(fastifyStatic, {
    root: consoleFolder,
    serve: false,
    cacheControl: false,
    etag: false,
    lastModified: false,
  });
  app.addHook('onRequest', async (request, reply) => {
    requireOwnHost(request, config);
    limit(request.ip);
    reply.header('content-security-policy', POLICY);
  });
  app.get('/console', { schema }, async (_request, reply) => reply.redirect(`${mountedAt}/console/`, 308));
  app.get<{ Params: { '*': string } }>('/console/*', { schema }, async (request, reply) => {
    built ??= filesIn(consoleFolder);
    const [file, files] = [request.params['*'], await built];
    if (files.has(file))
      return reply.header('cache-control', 'public, max-age=31536000, immutable').sendFile(file);
    if (file.startsWith(HASHED)) throw noRoute(request);
    if (files.size === 0)
      throw new Problem(
        'notFound',
        'The page of the console was not built. Run `npm run build`, and start this process again.',
      );
    page ??= readFile(`${consoleFolder}/index.html`, 'utf8');
    const html = (await page).replaceAll('"/console/', `"${mountedAt}/console/`);
    return reply.header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(html);
  });
};

/** The names of the hashed files; none if the page was not built. */
async function filesIn(folder: string): Promise<ReadonlySet<string>> {
  const names = await readdir(`${folder}/${HASHED}`, { recursive: true }).catch(() => []);
  return new Set(names.map((name) => HASHED + name.replaceAll(sep, '/')));
}
