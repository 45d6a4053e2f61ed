/** A file that cannot be read as a list of recipients. The message says what is wrong, where, and what would be right. */
export class ListError extends Error {
  override readonly name = 'ListError';
}
