import { PROBLEMS } from '../problem-kinds.js';
import type { Routes } from '../routes.js';
import { writtenDocument } from './openapi.js';
import { documentPage } from './page.js';

/** The document, and a page that is made of it. Neither needs a key, and the page loads nothing from anywhere. */
export const document: Routes = (app) => {
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(JSON.stringify(writtenDocument(app))),
  );
  app.get('/docs', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'")
      .send(documentPage(writtenDocument(app), PROBLEMS)),
  );
};
