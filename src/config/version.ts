import { readFileSync } from 'node:fs';

/** The version of this package, as its package.json has it. */
export const version: string = versionAbove(new URL('.', import.meta.url));

/** Looked for upward, so that it is found from wherever this was compiled to. */
function versionAbove(folder: URL): string {
  const own = versionIn(new URL('package.json', folder));
  if (own !== null) return own;
  const above = new URL('..', folder);
  if (above.href === folder.href) throw new Error('there is no package.json of volley above its code');
  return versionAbove(above);
}

/** Null where there is no such file, or one of another package. */
function versionIn(file: URL): string | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  const found: { name?: unknown; version?: unknown } = JSON.parse(text);
  return found.name === 'volley' ? String(found.version) : null;
}
