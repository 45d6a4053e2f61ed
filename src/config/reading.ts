import type { Environment } from './dot-env.js';
import { lookAlike } from './look-alike.js';
import { isSecret, SETTING_NAMES, SETTINGS, type Settings } from './settings.js';

/** The settings as far as they could be read, and what is wrong with the others. */
export interface Reading {
  /** A setting at fault has its default here, so that the checks that follow can still find more faults. */
  settings: Settings;
  /** Names of the settings that are set and not empty, whether right or wrong. */
  given: ReadonlySet<string>;
  /** Names of the settings at fault. */
  faulty: ReadonlySet<string>;
  /** One sentence a fault; later checks add theirs. */
  problems: string[];
}

/** Longer values say nothing more in a message, and a misplaced key is usually long. */
const SHOWN_LETTERS = 24;

/** Reads every setting by itself; never throws. */
export function readSettings(environment: Environment): Reading {
  const texts = new Map<string, string>();
  for (const name of SETTING_NAMES) {
    const value = environment[name];
    // A password may well begin or end with a space; anything else got it from a careless copy.
    const text = name === 'ACCOUNT_PASSWORD' ? value : value?.trim();
    if (text) texts.set(name, text);
  }
  const read = SETTINGS.safeParse(Object.fromEntries(texts));
  const given = new Set(texts.keys());
  if (read.success) return { settings: read.data, given, faulty: new Set(), problems: [] };

  const faulty = new Set(read.error.issues.map((issue) => String(issue.path[0])));
  const problems = read.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const text = texts.get(name) ?? '';
    const shown = isSecret(name) || text.length > SHOWN_LETTERS ? '' : `; it is ${JSON.stringify(text)}`;
    return `${name} ${issue.message}${shown}`;
  });
  const sound = [...texts].filter(([name]) => !faulty.has(name));
  return { settings: SETTINGS.parse(Object.fromEntries(sound)), given, faulty, problems };
}

/**
 * One sentence for each variable whose name looks like that of a setting with a slip in it. It may belong to another
 * program, so this is worth a hint but no fault.
 */
export function configHints(environment: Environment): string[] {
  return Object.keys(environment).flatMap((name) => {
    const meant = lookAlike(name, SETTING_NAMES);
    return meant === undefined || environment[meant]
      ? []
      : [`${name} is set, which is no setting of Volley; did you mean ${meant}?`];
  });
}
