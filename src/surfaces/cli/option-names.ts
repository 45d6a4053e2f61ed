/** The options whose names the library uses in its messages: in backticks, such as `toColumn`. */
const OPTIONS =
  /`(accountBaseUrl|baseUrl|country|countryColumn|duplicates|from|except|sender|to|toColumn|window|zone)`/g;

/** Names the options of the command line in a message of the library: "set `toColumn`" becomes "use --to-column". */
export function withOptions(message: string): string {
  const flags = message.replace(
    OPTIONS,
    (_, name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
  return flags.replace(
    /\b([Ss])et (--[a-z-]+)(?: to `(\w+)`)?/g,
    (_, initial: string, flag: string, value?: string) =>
      [initial === 'S' ? 'Use' : 'use', flag, ...(value === undefined ? [] : [value])].join(' '),
  );
}
