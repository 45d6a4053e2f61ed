import stringify from 'json-stringify-pretty-compact';
import type { CommandLine, Ended } from '../scene/command-line.js';

/** Records commands with what they print, so that a file shows every text and every member of `--json` at once. */
export interface Transcript {
  /** Runs a command as people do, then again with `--json` if it has that option. */
  run(...args: readonly string[]): Promise<Ended>;
  /** Runs a command once; for commands that change something. */
  once(...args: readonly string[]): Promise<Ended>;
  /** The same with `input` on standard input. */
  piped(input: string, ...args: readonly string[]): Promise<Ended>;
  /** Everything so far, with placeholders for what differs between runs. */
  text(): string;
}

/** What differs from run to run, and its placeholder. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)/g, '<time>'],
  // The zone is that of the machine, or of a campaign. Without one, it is a time of day, such as that of a window.
  [
    /\b(?:[A-Z][a-z]{2} )?(?:\d{1,2} [A-Z][a-z]{2} (?:\d{4} )?)?\d\d:\d\d(?::\d\d)? (?:UTC|GMT(?:[+-]\d+(?::\d\d)?)?|[A-Z]{3,4})\b/g,
    '<time> <zone>',
  ],
  [/\b(?:\d{1,2} [A-Z][a-z]{2} (?:\d{4} )?)?\d\d:\d\d(?::\d\d)?\b/g, '<time>'],
  [/\b20\d\d-\d\d-\d\d\b/g, '<date>'],
  [
    /\b((?:in|within|since) (?:about )?)\d[\d.]*(?: ?(?:ms|s|m|min|h|d)\b)(?: \d+(?:s|m|h)\b)?/g,
    '$1<duration>',
  ],
  [/\b[\d,]+(?= messages an hour)|\b[\d,]+(?=\/h\b)/g, '<rate>'],
  [/"rate":\d+/g, '"rate":"<rate>"'],
  [/\b\d+(?= MB used)/g, '<n>'],
  [/\b\d{13}-\d+\b/g, '<audit entry>'],
  [/\bvk_(?:test_)?[0-9a-f]{12}_[\w-]{43}/g, '<secret>'],
  [/(?<=Redis version(?:: |","state":"ok","message":"))\d[\d.]*/g, '<version>'],
  // It names the server that wrote the log.
  [/(?<=--cursor |"nextCursor": ?")A[\w-]{15,}/g, '<cursor>'],
  [/\b[0-9a-z]{8}-\d{6}\b/g, '<request>'],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>'],
  // Later versions of Node add it to the error of JSON.parse.
  [/(?<= in JSON at position \d+) \(line \d+ column \d+\)/g, ''],
];

/** Ids that the same run uses several times, so that a file shows which are equal. */
const IDS: readonly (readonly [RegExp, string])[] = [
  [/\bm[0-9a-z]{12}\b/g, 'campaign'],
  [/(?<!\+)\b[0-9a-f]{12}\b/g, 'key'],
];

/** `replaced` says which names to show instead of values that are known to differ, such as paths. */
export function transcriptOf(cli: CommandLine, replaced: Readonly<Record<string, string>>): Transcript {
  const lines: string[] = [];
  const named = (text: string): string =>
    Object.entries(replaced).reduce((all, [from, to]) => all.replaceAll(from, to), text);
  const placed = (text: string): string =>
    VARYING.reduce((all, [pattern, to]) => all.replace(pattern, to), named(closeUp(text)));
  const record = (input: string, args: readonly string[], { exit, stdout, stderr }: Ended): void => {
    const given = input === '' ? '' : `printf ${quoted(input.replaceAll('\n', '\\n'))} | `;
    lines.push(`$ ${given}volley ${args.map((word) => quoted(named(word))).join(' ')}`);
    if (stderr !== '') lines.push(...indented(placed(stderr), '! '));
    if (stdout !== '') lines.push(...indented(pretty(placed(stdout)), '  '));
    lines.push(`= ${exit}`, '');
  };
  const piped: Transcript['piped'] = async (input, ...args) => {
    const ended = await cli.piped(input, ...args);
    record(input, args, ended);
    return ended;
  };
  const once: Transcript['once'] = (...args) => piped('', ...args);
  return {
    once,
    piped,
    async run(...args) {
      const ended = await once(...args);
      await once(...args, '--json');
      return ended;
    },
    text: () => numbered(lines.join('\n')),
  };
}

/** Short lines, so that a difference is easy to see. */
function pretty(stdout: string): string {
  try {
    return `${stringify(JSON.parse(stdout), { indent: 1, maxLength: 100 })}\n`;
  } catch {
    return stdout;
  }
}

/** `campaign 1`, `campaign 2`, … in place of ids, in the order in which they appear. */
function numbered(text: string): string {
  return IDS.reduce((all, [pattern, name]) => {
    const seen: string[] = [];
    return all.replace(pattern, (id) => {
      if (!seen.includes(id)) seen.push(id);
      return `<${name} ${seen.indexOf(id) + 1}>`;
    });
  }, text);
}

/** A table with columns whose width differs from run to run, rates and times, as it would be if it did not. */
const closeUp = (text: string): string =>
  /^ *ID .* (?:RATE|NEXT|TIME) /m.test(text) ? text.replace(/(?<=\S) {3,}(?=\S)/g, '  ') : text;

const quoted = (word: string): string => (/^[\w./:@+,=-]+$/.test(word) ? word : `'${word}'`);

const indented = (text: string, mark: string): string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `${mark}${line}`.trimEnd());
