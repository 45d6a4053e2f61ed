/** Something that was named does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

/** Something that was given cannot be; the message says what would be right. */
export class InputError extends Error {
  override readonly name = 'InputError';
  /** What it was given as, such as `sender` or `numbers/3`; undefined where nothing in particular is at fault. */
  readonly field: string | undefined;

  constructor(message: string, { field, ...options }: ErrorOptions & { readonly field?: string } = {}) {
    super(message, options);
    this.field = field;
  }
}
