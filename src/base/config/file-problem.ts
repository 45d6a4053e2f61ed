import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { cwd } from 'node:process';

/** The system's code of an error, such as ENOENT; undefined if it has none. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/**
 * What this path may mean in the folder where the command runs. The container of the Compose file stands in `lists`, and people write
 * `lists/big.csv` to it, or a path of their own machine.
 */
function foundHere(path: string, folder: string): string {
  const names = path.split('/');
  const end = names.map((_, at) => names.slice(at + 1).join('/')).find((each) => isIn(each, folder));
  return end === undefined ? '' : `, but there is ${end} in ${folder}, where this command runs`;
}

const isIn = (path: string, folder: string): boolean => path !== '' && existsSync(resolve(folder, path));

/** Why a file cannot be read, in a sentence without a full stop; undefined if the error is not one of the system. */
export function readProblem(error: unknown, path: string, folder = cwd()): string | undefined {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `There is no file ${path}${foundHere(path, folder)}`;
    case 'EACCES':
    case 'EPERM':
      return `You do not have permission to read ${path}`;
    case 'EISDIR':
      return `The path ${path} is a folder, not a file`;
    case 'ENXIO':
      return `The path ${path} is a socket or a device, not a file`;
    case 'EMFILE':
    case 'ENFILE':
      return `The file ${path} cannot be read, because too many files are open`;
    case 'ENAMETOOLONG':
      return `The file name ${path.slice(0, 60)}… is too long`;
    case 'ELOOP':
      return `The file ${path} is a link that leads back to itself`;
    case 'EIO':
      return `The file ${path} cannot be read: the disk reports an error`;
    default:
      return undefined;
  }
}

/** Why the file that a setting names cannot be read. */
export const unreadable = (setting: string, file: string, error: unknown): string =>
  `${setting} must be a file that you can read. ${readProblem(error, file) ?? `The file ${file} cannot be read`}`;

/** The text of the file that a setting names; undefined after a problem. */
export function textOfFile(
  setting: string,
  file: string,
  readFile: (path: string) => string,
  problems: string[],
): string | undefined {
  try {
    return readFile(file);
  } catch (error) {
    problems.push(unreadable(setting, file, error));
    return undefined;
  }
}
