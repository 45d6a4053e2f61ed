/** Pure: the generated part of a document. */

/** Replaces the text between `<!-- name -->` and `<!-- /name -->`. Throws if the document lacks one of them. */
export function between(document: string, name: string, text: string): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [document.indexOf(open), document.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`the document has no ${open} … ${close}`);
  return `${document.slice(0, from + open.length)}\n${text.trim()}\n${document.slice(to)}`;
}
