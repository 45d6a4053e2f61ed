import { VolleyError } from '../../campaign/errors/errors.js';

/** The lane has no access token, so nothing was sent. */
export class NoTokenError extends VolleyError {
  override readonly name = 'NoTokenError';
  /** `unavailable` if there may be one later; otherwise an operator must act. */
  readonly code: 'unavailable' | 'noToken';

  constructor(reason: string, mayRepeat: boolean) {
    super(reason);
    this.code = mayRepeat ? 'unavailable' : 'noToken';
  }
}

/** Another request of the credential is in flight. */
export class RecordsBusyError extends VolleyError {
  override readonly name = 'RecordsBusyError';
  readonly code = 'tooManyRequests';
  readonly retryInMs: number;

  constructor(retryInMs: number) {
    super('another request for call records of this credential is in flight; retry later');
    this.retryInMs = retryInMs;
  }
}
