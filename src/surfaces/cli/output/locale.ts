import { type Separator, separatorIn } from '../../../campaign/text/separators.js';

/** The separator that Excel expects in the locale of the environment, or, where that names none, as on Windows, of the system. */
export function separatorOf(env: Readonly<Record<string, string | undefined>>): Separator {
  const named = env['LC_ALL'] || env['LC_NUMERIC'] || env['LANG'] || '';
  const tag = named.replace(/[.@].*$/, '').replaceAll('_', '-');
  return separatorIn(numberFormat(tag));
}

function numberFormat(tag: string): Intl.NumberFormat {
  if (tag === 'C' || tag === 'POSIX') return new Intl.NumberFormat('en-US');
  try {
    return new Intl.NumberFormat(tag === '' ? undefined : tag);
  } catch {
    return new Intl.NumberFormat();
  }
}
