/** A capital letter, a digit, a quotation mark, an option, or a name in code such as `validFor` or `spring.csv`. */
const BEGINNING = /^(?:[\p{Lu}\d"'`<{/~.-]|[a-z]+[A-Z_.\d])/u;
/** A full stop, or something to copy after a colon. Lists of rows end as they like. */
const END = /[.!?…:]$|: \S[^!?]*$/s;

/** What of these messages breaks the rule for errors, on the command line and over HTTP: they are sentences. */
export function notSentences(messages: readonly string[]): string[] {
  return messages.filter((message) => !BEGINNING.test(message) || !END.test(message.trimEnd()));
}

/** The messages of the command line's errors in what it has printed on standard error. */
export function errorsIn(stderr: string): string[] {
  return [...stderr.matchAll(/^volley: (.*?)$/gms)].flatMap(([, message]) => message ?? []);
}

/** The messages of an error response: `detail`, and one for each invalid part. */
export function messagesOf(problem: unknown): string[] {
  const { detail, errors = [] } = problem as { detail?: unknown; errors?: readonly { message: string }[] };
  return [...(typeof detail === 'string' ? [detail] : []), ...errors.map(({ message }) => message)];
}
