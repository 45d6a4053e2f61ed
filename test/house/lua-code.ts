/** Lua without comments, and with empty strings, so that what is left is code. Keeps every line. */
export const codeOf = (text: string): string =>
  text
    .replace(/--\[\[.*?^\]\]$/gms, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .replace(/--.*$/gm, '');

/** The line of a place in a text, from 1. */
export const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;
