import stringify from 'json-stringify-pretty-compact';
import type { OpenAPIV3_1 } from 'openapi-types';
import { expect, test } from 'vitest';
import { scene } from '../scene/scene.js';

const { origin } = await scene('golden-openapi').api();

test('The OpenAPI document is that in openapi.json', async () => {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;
  // The order of the schemas depends on which modules other tests have loaded before.
  const schemas = Object.entries(document.components?.schemas ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  document.components = { ...document.components, schemas: Object.fromEntries(schemas) };
  const text = stringify(withoutRepeats(document), { indent: 1, maxLength: 110 }).replaceAll(
    origin,
    'http://127.0.0.1:<port>',
  );
  await expect(`${text}\n`).toMatchFileSnapshot('files/openapi.json');
});

/** A part that stands in several places, such as an error response, is written only at the first one. */
const LONG = 200;

/** The same document with the path of the first occurrence in place of each further one. */
function withoutRepeats(document: unknown): unknown {
  const first = new Map<string, string>();
  const visit = (part: unknown, path: string): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    const text = JSON.stringify(part);
    const earlier = first.get(text);
    if (earlier !== undefined) return `the same as ${earlier}`;
    if (text.length >= LONG) first.set(text, path);
    if (Array.isArray(part)) return part.map((item, at) => visit(item, `${path}/${at}`));
    return Object.fromEntries(
      Object.entries(part).map(([name, item]) => [name, visit(item, `${path}/${name}`)]),
    );
  };
  return visit(document, '#');
}
