import { existsSync, readFileSync } from 'node:fs';

/** The version of this package, from its package.json. */
export const version: string = findVersion(new URL('.', import.meta.url));

/** Looks in `folder` and then in each folder above it, because the compiled code is in a folder of its own. */
function findVersion(folder: URL): string {
  const file = new URL('package.json', folder);
  if (existsSync(file)) {
    const manifest: { name?: unknown; version?: unknown } = JSON.parse(readFileSync(file, 'utf8'));
    if (manifest.name === 'volley') return String(manifest.version);
  }
  const parent = new URL('..', folder);
  if (parent.href === folder.href)
    throw new Error(
      'Volley reads files of its package, and none is beside this code. If you bundle your program, leave Volley out of the bundle: esbuild --external:volley',
    );
  return findVersion(parent);
}
