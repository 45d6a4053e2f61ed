import type { OpenAPIV3_1 } from 'openapi-types';
import type { ProblemKind } from '../problem-kinds.js';
import type { Operation } from './operation.js';
import { type Member, memberOf, membersOf, type Schema } from './schema-words.js';
import { STYLE } from './style.js';

type Document = OpenAPIV3_1.Document;

const METHODS = ['get', 'post', 'put', 'delete'] as const;

/**
 * The document as a page that people read: HTML in one file, without scripts. Whatever the document says is escaped; what
 * stands in it between backticks is shown as code. Each operation and each problem has an anchor, a problem's being the
 * one that its `type` leads to. Pure.
 */
export function documentPage(document: Document, problems: readonly ProblemKind[]): string {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item?.[method];
      return operation === undefined ? [] : [{ path, method: method.toUpperCase(), operation }];
    }),
  );
  const groups = (document.tags ?? []).map(({ name }) => ({
    name,
    own: operations.filter(({ operation }) => operation.tags?.includes(name)),
  }));
  const { title, version, description = '' } = document.info;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} ${escaped(version)}: the HTTP API</title>
<style>${STYLE}</style>
</head>
<body>
<nav>${groups.map(({ name, own }) => `<p>${escaped(name)}</p>${own.map(link).join('')}`).join('')}<p>Errors</p>${problems.map(({ code }) => `<a href="#problem-${code}">${code}</a>`).join('')}</nav>
<main>
<h1>${escaped(title)} <small>${escaped(version)}</small></h1>
${description
  .split('\n\n')
  .map((text) => `<p>${prose(text)}</p>`)
  .join('\n')}
<p>The same for programs: <a href="/openapi.json">openapi.json</a> (OpenAPI ${escaped(document.openapi)}).</p>
${groups.map(({ name, own }) => `<h2>${escaped(name)}</h2>\n${own.map((one) => section(document, one)).join('\n')}`).join('\n')}
<h2>Errors</h2>
<table><tr><th>code</th><th>status</th><th></th></tr>
${problems.map(({ code, status, title: words, advice }) => `<tr id="problem-${code}"><td><code>${code}</code></td><td>${status}</td><td><b>${escaped(words)}.</b> ${prose(advice)}</td></tr>`).join('\n')}
</table>
</main>
</body>
</html>
`;
}

interface Described {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

function anchor({ path, method }: Described): string {
  return `${method}${path}`.replace(/[^A-Za-z0-9]+/g, '-');
}

function link(one: Described): string {
  return `<a href="#${anchor(one)}"><b>${one.method}</b> ${escaped(one.path)}</a>`;
}

function section(document: Document, one: Described): string {
  const { path, method, operation } = one;
  const scope = operation['x-scope'];
  const parameters = (operation.parameters ?? []).flatMap((given) => ('$ref' in given ? [] : [given]));
  const body =
    operation.requestBody !== undefined && 'content' in operation.requestBody ? operation.requestBody : null;
  return `<section id="${anchor(one)}">
<h3><b>${method}</b> ${escaped(path)}</h3>
<p>${escaped(operation.summary ?? '')}. ${prose(operation.description ?? '')} <em>${scope === undefined ? 'No key.' : `Scope ${scope}.`}</em></p>
${table(
  'Parameters',
  parameters.map(({ name, in: place, required, schema, description }) => {
    const row = memberOf(document, `${name} (${place})`, schema as Schema | undefined, required === true);
    return description === undefined ? row : { ...row, words: description };
  }),
)}
${Object.entries(body?.content ?? {})
  .map(([type, { schema }]) => table(`Body: ${type}`, membersOf(document, schema as Schema | undefined)))
  .join('\n')}
${Object.entries(operation.responses ?? {})
  .map(([status, response]) => answer(document, status, response))
  .join('\n')}
</section>`;
}

function answer(
  document: Document,
  status: string,
  response: OpenAPIV3_1.ResponseObject | OpenAPIV3_1.ReferenceObject,
): string {
  if ('$ref' in response) return '';
  const words = ` ${prose(response.description)}`;
  if (Number(status) >= 400) return `<p class="answer"><b>${status}</b>${words}</p>`;
  return Object.entries(response.content ?? {})
    .map(([type, { schema }]) => {
      const rows = membersOf(document, schema as Schema | undefined);
      const title = `<p class="answer"><b>${status}: ${escaped(type)}</b>${words}</p>`;
      return rows.length === 0 ? title : `${title}\n${table('', rows)}`;
    })
    .join('\n');
}

function table(title: string, rows: readonly Member[]): string {
  if (rows.length === 0) return '';
  const lines = rows.map(
    ({ name, type, required, words }) =>
      `<tr><td><code>${escaped(name)}</code>${required ? '' : ' <i>optional</i>'}</td><td>${escaped(type)}</td><td>${prose(words)}</td></tr>`,
  );
  return `${title === '' ? '' : `<h4>${escaped(title)}</h4>\n`}<table>${lines.join('\n')}</table>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);
}

/** With `code` in its place. */
function prose(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
