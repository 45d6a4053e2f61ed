import type { OpenAPIV3_1 } from 'openapi-types';
import type { ProblemKind } from './problem-kinds.js';

type Document = OpenAPIV3_1.Document;
type Schema = OpenAPIV3_1.SchemaObject | OpenAPIV3_1.ReferenceObject;
type Operation = OpenAPIV3_1.OperationObject & { readonly 'x-scope'?: string };

const METHODS = ['get', 'post', 'put', 'delete'] as const;
/** Deeper than that the document itself is easier to read. */
const DEPTH = 2;

/** The document as a page that people read: one file, without scripts. Pure. */
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
  parameters.map(({ name, in: place, required, schema, description }) => ({
    name: `${name} (${place})`,
    type: typeOf(document, schema as Schema | undefined),
    required: required === true,
    words: description ?? described(document, schema as Schema | undefined),
  })),
)}
${Object.entries(body?.content ?? {})
  .map(([type, { schema }]) => table(`Body: ${type}`, members(document, schema as Schema | undefined)))
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
      const rows = members(document, schema as Schema | undefined);
      const title = `<p class="answer"><b>${status}: ${escaped(type)}</b>${words}</p>`;
      return rows.length === 0 ? title : `${title}\n${table('', rows)}`;
    })
    .join('\n');
}

interface Member {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly words: string;
}

function table(title: string, rows: readonly Member[]): string {
  if (rows.length === 0) return '';
  const lines = rows.map(
    ({ name, type, required, words }) =>
      `<tr><td><code>${escaped(name)}</code>${required ? '' : ' <i>optional</i>'}</td><td>${escaped(type)}</td><td>${prose(words)}</td></tr>`,
  );
  return `${title === '' ? '' : `<h4>${escaped(title)}</h4>\n`}<table>${lines.join('\n')}</table>`;
}

function members(document: Document, given: Schema | undefined, before = '', depth = 0): Member[] {
  const schema = resolved(document, given);
  if (schema === undefined || schema.properties === undefined) return [];
  const own = Object.entries(schema.properties).flatMap(([name, member]) => {
    const full = `${before}${name}`;
    const row: Member = {
      name: full,
      type: typeOf(document, member),
      required: schema.required?.includes(name) === true,
      words: described(document, member),
    };
    if (depth >= DEPTH) return [row];
    const whole = resolved(document, member);
    const items = whole !== undefined && 'items' in whole ? whole.items : undefined;
    const inner =
      items === undefined
        ? members(document, member, `${full}.`, depth + 1)
        : members(document, items, `${full}[].`, depth + 1);
    return [row, ...inner];
  });
  const { additionalProperties: others } = schema;
  // An empty schema says no more than that others are let through.
  if (typeof others !== 'object' || Object.keys(others).length === 0) return own;
  const words = described(document, others);
  return [...own, { name: `${before}…`, type: typeOf(document, others), required: false, words }];
}

function described(document: Document, given: Schema | undefined): string {
  return given?.description ?? resolved(document, given)?.description ?? '';
}

function resolved(document: Document, schema: Schema | undefined): OpenAPIV3_1.SchemaObject | undefined {
  if (schema === undefined || !('$ref' in schema)) return schema;
  return resolved(document, document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? '']);
}

function typeOf(document: Document, given: Schema | undefined): string {
  const schema = resolved(document, given);
  if (schema === undefined) return '';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) {
    return `${schema.enum.map((value) => JSON.stringify(value)).join(' | ')}${boundsOf(schema)}`;
  }
  const some = schema.anyOf ?? schema.oneOf;
  if (some !== undefined) return some.map((one) => typeOf(document, one)).join(' | ');
  if ('items' in schema) return `list of ${typeOf(document, schema.items) || 'anything'}`;
  return `${[schema.type ?? ''].flat().join(' | ')}${boundsOf(schema)}`;
}

/** What bounds it, and what it is where it is left out. */
function boundsOf({ minimum, maximum, maxLength, default: usual }: OpenAPIV3_1.SchemaObject): string {
  const bounds = [
    ...(minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
      ? [`${minimum} to ${maximum}`]
      : []),
    ...(maxLength === undefined ? [] : [`up to ${maxLength} letters`]),
    ...(usual === undefined ? [] : [`default ${usual}`]),
  ];
  return bounds.map((bound) => `, ${bound}`).join('');
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

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: light-dark(#666, #999); }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; box-sizing: border-box; padding: 1rem; border-right: 1px solid var(--line); font-size: 13px; }
nav p { margin: 1rem 0 .25rem; color: var(--soft); }
nav a { display: block; color: inherit; text-decoration: none; padding: .1rem 0; overflow-wrap: anywhere; }
nav a:hover { text-decoration: underline; }
main { padding: 1rem 2rem 6rem; max-width: 60rem; }
section { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
h3 { font: 600 1.05rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
h4 { margin: 1rem 0 .25rem; font-size: .85rem; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td, th { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
td:first-child { white-space: nowrap; }
code { font: .92em ui-monospace, monospace; }
i, small { color: var(--soft); font-style: normal; font-size: .85em; }
.answer { margin: .3rem 0; font-size: .9rem; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; height: auto; max-height: 40vh; border: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem 1rem 6rem; }
  tr { display: block; padding: .3rem 0; border-bottom: 1px solid var(--line); }
  td { display: block; padding: 0; border: 0; overflow-wrap: anywhere; }
  td:first-child { white-space: normal; }
  th { display: none; }
}
`;
