import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A file of the project: its path from the root, separated by `/`, and its content. */
export interface SourceFile {
  path: string;
  text: string;
}

/** Every file in these folders, at any depth, with one of these endings, ordered by path. */
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
const LUA = /^-- @include (\S+)$|\bimport\.meta\.url,\s*'([^']+\.lua)'/gm;

/**
 * Everything a file imports: values, types, re-exports, dynamic imports, and Lua scripts that it loads or includes.
 * Files of the project as paths from the root, libraries by name.
 */
export function importsOf({ path, text }: SourceFile): string[] {
  const names = [...text.matchAll(IMPORT), ...text.matchAll(LUA)].flatMap((match) =>
    match.slice(1).filter((name) => name !== undefined),
  );
  return names.map((name) => (name.startsWith('.') ? sourceOf(normalize(join(dirname(path), name))) : name));
}

/** The source of a file that is imported as it is called after the build. */
function sourceOf(built: string): string {
  const component = built.replace(/\.js$/, '.tsx');
  return existsSync(join(ROOT, component)) ? component : built.replace(/\.js$/, '.ts');
}
