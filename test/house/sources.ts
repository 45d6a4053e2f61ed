import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** One file of the project: its path from the root, with `/`, and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** Every file below these folders whose name ends so, in the order of their paths. */
export function sourceFiles(folders: readonly string[], endings: readonly string[]): SourceFile[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

const IMPORT =
  /^\s*(?:import|export)\s[^;'"]*?\sfrom\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm;
const LUA = /^-- @include (\S+)$|\bloadScript\(\s*import\.meta\.url,\s*'([^']+)'/gm;

/**
 * What a file names to have it: imports of values and of types, exports of another file's, dynamic imports, and
 * Lua scripts that are loaded or included. Files of the project by their path, libraries by what is written.
 */
export function namedBy({ path, text }: SourceFile): string[] {
  const written = [...text.matchAll(IMPORT), ...text.matchAll(LUA)].flatMap((match) =>
    match.slice(1).filter((name) => name !== undefined),
  );
  return written.map((name) =>
    name.startsWith('.') ? normalize(join(dirname(path), name)).replace(/\.js$/, '.ts') : name,
  );
}
