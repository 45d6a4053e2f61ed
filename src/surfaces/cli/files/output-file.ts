import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { systemCode } from '../../../base/config/file-problem.js';
import { badInput, CliError } from '../context/errors.js';

/** Only its owner may read a file with phone numbers. */
export const PRIVATE = 0o600;

interface OutputOptions {
  readonly cwd: string;
  /** Overwrite an existing file. */
  readonly force: boolean;
}

/**
 * Checks that a file can be written before anything is read for it. Returns a function that writes it, all or nothing: readers
 * never see half a file, and an earlier file stays until the end. Rejects if the file exists, unless `force` is set.
 */
export async function outputFile(
  path: string,
  { cwd, force }: OutputOptions,
): Promise<(chunks: AsyncIterable<string | Uint8Array>) => Promise<void>> {
  const target = resolve(cwd, path);
  const stats = await stat(target).catch(() => undefined);
  if (stats?.isDirectory()) {
    throw badInput(
      `The path ${path} is a folder. Give the name of a file in it: ${join(path, 'report.csv')}`,
    );
  }
  // A device or a pipe cannot be replaced, and has nothing to lose.
  if (stats !== undefined && !stats.isFile()) return (chunks) => written(path, chunks, target, 'a');
  if (stats !== undefined && !force) {
    throw new CliError('fileExists', `The file ${path} exists already. To overwrite it, add --force.`, {
      path,
    });
  }
  const real = stats === undefined ? target : await realpath(target);
  const folder = await stat(dirname(real)).catch(() => undefined);
  if (folder === undefined) throw badInput(noFolder(path, cwd));
  return async (chunks) => {
    const draft = join(dirname(real), `.${basename(real)}.${randomBytes(4).toString('hex')}.part`);
    try {
      await written(path, chunks, draft, 'wx');
      await (force ? rename(draft, real) : moveToNew(draft, real, path));
    } finally {
      await rm(draft, { force: true });
    }
  };
}

/** The container of the Compose file stands in `lists`, and people write `lists/report.csv` to it. */
function noFolder(path: string, cwd: string): string {
  const folder = dirname(path);
  const [first, ...rest] = path.split('/');
  return first === basename(cwd)
    ? `There is no folder ${folder} in ${cwd}, where this command runs. Write ${rest.join('/')}.`
    : `There is no folder ${folder}. Create it first with \`mkdir -p ${folder}\`.`;
}

async function written(
  path: string,
  chunks: AsyncIterable<string | Uint8Array>,
  to: string,
  flags: string,
): Promise<void> {
  const file = createWriteStream(to, { flags, mode: PRIVATE });
  let failed: Error | undefined;
  file.once('error', (error) => {
    failed = error;
  });
  try {
    await pipeline(chunks, file);
  } catch (error) {
    // If the source fails at once, the file may not be open yet. It must not be created after its draft is removed.
    if (!file.closed) await new Promise<void>((resolve) => file.once('close', () => resolve()));
    throw error === failed ? fileProblem(failed, path) : error;
  }
}

/** Another command may have created the file meanwhile. Linking, unlike renaming, never replaces it. */
async function moveToNew(draft: string, target: string, path: string): Promise<void> {
  try {
    await link(draft, target);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EEXIST')
      throw new CliError('fileExists', `The file ${path} exists already. To overwrite it, add --force.`, {
        path,
      });
    // Some file systems have no links.
    await rename(draft, target);
  }
}

/** Says in a sentence why a file cannot be written, and names its folder. */
export function fileProblem(error: unknown, path: string): unknown {
  const folder = dirname(path);
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return badInput(`There is no folder ${folder}, so ${path} cannot be written.`);
    case 'EACCES':
    case 'EPERM':
      return badInput(
        `You (user ${process.getuid?.() ?? 'unknown'}) do not have permission to create files in the folder ${resolve(folder)}, so ${path} cannot be written.`,
      );
    case 'EROFS':
      return badInput(`The folder ${folder} is read-only, so ${path} cannot be written.`);
    case 'ENOSPC':
    case 'EDQUOT':
      return badInput(`There is no space left in the folder ${folder}, so ${path} cannot be written.`);
    case 'EISDIR':
      return badInput(`The path ${path} is a folder. Give the name of a file.`);
    default:
      return error;
  }
}
