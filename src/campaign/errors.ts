/** Something that was named does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

/** Something that was given cannot be; the message says what would be right. */
export class InputError extends Error {
  override readonly name = 'InputError';
}
