/** The lane has no access token, so nothing was sent. */
export class NoTokenError extends Error {
  override readonly name = 'NoTokenError';
  /** Whether there may be one later; otherwise an operator must act. */
  readonly mayRepeat: boolean;

  constructor(reason: string, mayRepeat: boolean) {
    super(reason);
    this.mayRepeat = mayRepeat;
  }
}

/** Another request of the credential is in flight. */
export class RecordsBusyError extends Error {
  override readonly name = 'RecordsBusyError';
  readonly retryInMs: number;

  constructor(retryInMs: number) {
    super('another request for call records of this credential is in flight; retry later');
    this.retryInMs = retryInMs;
  }
}
