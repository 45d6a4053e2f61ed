import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { addressLimit } from '../limits/address-limits.js';
import type { Routes } from '../route.js';
import { PROBLEMS } from '../server/problem.js';
import { pagePolicy } from '../server/standard-headers.js';
import { openApiDocument } from './openapi.js';

/** The npm package openapi-explorer in one file. The build copies it here. */
const EXPLORER = new URL('../explorer/openapi-explorer.min.js', import.meta.url);

/** The explorer renders the errors too late for the browser to scroll to one, and then scrolls to the top itself. */
const SCROLL = `const id = location.hash.slice(1);
document.querySelector('openapi-explorer').addEventListener('spec-loaded', () => {
  setTimeout(() => document.getElementById(id)?.scrollIntoView(), 200);
});`;

/** The explorer adds styles inline. */
const POLICY = pagePolicy({
  script: ` 'sha256-${createHash('sha256').update(SCROLL).digest('base64')}'`,
  style: "'unsafe-inline'",
});

/** The OpenAPI document, and a page at `/docs` that shows it. Neither requires a key, and the page needs no other server. */
export const docs: Routes = (app, { config }) => {
  const schema = { hide: true };
  const limit = addressLimit(config.http.requestsPerMinute);
  app.addHook('onRequest', async ({ ip }) => limit(ip));
  // Both are made once: they never change.
  let document: Buffer | undefined;
  let explorer: Promise<Buffer> | undefined;
  app.get('/', { schema }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('link', '<docs>; rel="service-doc", <openapi.json>; rel="service-desc"')
      .send(START),
  );
  app.get('/openapi.json', { schema }, async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument(app)));
    return reply.type('application/json; charset=utf-8').send(document);
  });
  app.get('/docs', { schema }, async (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).send(PAGE),
  );
  app.get('/docs/openapi-explorer.js', { schema }, async (_request, reply) => {
    explorer ??= readFile(EXPLORER);
    return reply
      .type('text/javascript; charset=utf-8')
      .header('cache-control', 'public, max-age=3600')
      .send(await explorer);
  });
};

/** The `type` of a problem document leads to its row in the table. */
const ERRORS = PROBLEMS.map(
  ({ code, status, title, advice }) =>
    `<tr id="problem-${code}"><td>${status}</td><td><code>${code}</code></td><td><b>${html(title)}.</b> ${html(advice)}</td></tr>`,
).join('\n');

const START = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Volley</title>
<p>This is the HTTP API of Volley. <a href="docs">Documentation</a>, <a href="openapi.json">OpenAPI document</a></p>
</html>
`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Volley: HTTP API</title>
<link rel="icon" href="data:,">
<style>
  body { margin: 0; }
  openapi-explorer { --font-regular: system-ui, sans-serif; font: 16px/1.5 system-ui, sans-serif; }
  td { padding: 0.4rem 1rem 0.4rem 0; border-top: 1px solid #8884; vertical-align: top; }
  table { border-collapse: collapse; font-size: 0.9rem; }
</style>
<script type="module" src="docs/openapi-explorer.js"></script>
</head>
<body>
<openapi-explorer spec-url="openapi.json" hide-server-selection>
<section slot="overview-footer">
<h2>Errors</h2>
<table>
${ERRORS}
</table>
<p>For programs: <a href="openapi.json">openapi.json</a></p>
</section>
</openapi-explorer>
<script>${SCROLL}</script>
</body>
</html>
`;

/** Our own text, which needs no escaping, with its `code` marked up. */
function html(text: string): string {
  return text.replace(/`([^`]+)`/g, '<code>$1</code>');
}
