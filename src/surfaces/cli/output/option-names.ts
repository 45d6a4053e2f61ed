/** The options whose names the library uses in its messages: in backticks, such as `toColumn`. */
const OPTIONS =
  /`(accountBaseUrl|again|baseUrl|country|countryColumn|duplicates|from|except|headerLine|maxCost|sender|sheet|skipInvalid|to|toColumn|window|zone|zoneColumn|zoneFrom)`/g;

/** Names the options of the command line in a message of the library: "set `toColumn`" becomes "use --to-column". */
export function withOptions(message: string): string {
  const flags = message.replace(
    OPTIONS,
    (_, name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
  return flags.replace(
    /\b([Ss])et (--[a-z-]+)(?: to (?:`(\w+)`|"([\p{L}\p{N}_.-]+)"|("[^"]*")))?/gu,
    (_, initial: string, flag: string, ...values: (string | undefined)[]) =>
      [initial === 'S' ? 'Use' : 'use', flag, ...values.slice(0, 3).filter((value) => value)].join(' '),
  );
}
