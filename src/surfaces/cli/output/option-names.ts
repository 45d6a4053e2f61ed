import { flagName } from '../../../operations/operation.js';

/** The options whose names the library uses in its messages: in backticks, such as `toColumn`. */
const OPTIONS =
  /`(accountBaseUrl|again|baseUrl|country|countryColumn|cron|duplicates|from|except|headerLine|maxCost|put|sendAt|sender|sheet|skipInvalid|timeColumn|to|toColumn|toResultsOf|window|window\.zone|zone|zoneColumn|zoneFrom)`/g;

/** The options that are called otherwise. */
const OTHERWISE: Readonly<Record<string, string>> = { put: 'replace', sendAt: 'at' };

/** Names the options of the command line in a message of the library: "set `toColumn`" becomes "use --to-column". */
export function withOptions(message: string): string {
  const flags = message
    .replace(OPTIONS, (_, name: string) => flagName(OTHERWISE[name] ?? name).replace('.', '-'))
    .replace(
      /(--[a-z-]+) to null\b/g,
      (_, flag: string) => `${flag} to \`${flag === '--at' ? 'now' : 'none'}\``,
    );
  return flags.replace(
    /\b([Ss])et (--[a-z-]+)(?: to (?:`(\w+)`|"([\p{L}\p{N}_.-]+)"|("[^"]*")))?/gu,
    (_, initial: string, flag: string, ...values: (string | undefined)[]) =>
      [initial === 'S' ? 'Use' : 'use', flag, ...values.slice(0, 3).filter((value) => value)].join(' '),
  );
}
