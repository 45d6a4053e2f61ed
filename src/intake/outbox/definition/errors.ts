import { InputError, InputErrors, VolleyError } from '../../../campaign/errors/errors.js';
import type { LateCode } from '../../../campaign/views/outbox-views.js';

/** The lane has an outbox of this name with other settings. */
export class OutboxExistsError extends InputError {
  override readonly name = 'OutboxExistsError';
  override readonly code = 'exists';
}

/** It is too late to change or cancel a message; nothing has changed. */
export class MessageLateError extends VolleyError {
  override readonly name = 'MessageLateError';
  /** `stale`: the stored message has a higher version; `sent`: it was claimed; `ended`: it was cancelled, or has lapsed. */
  readonly code: LateCode;

  constructor(code: LateCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The outbox takes no more messages. */
export class OutboxClosedError extends InputError {
  override readonly name = 'OutboxClosedError';
  override readonly code = 'closed';
}

/** Redis may have lost data, so it is not known yet whether a message was sent. */
export class RecoveringError extends VolleyError {
  override readonly name = 'RecoveringError';
  readonly code = 'unavailable';

  constructor() {
    super('the lane recovers from a loss of data: try again in some seconds');
  }
}

/** A message is valid, but would lapse before its window opens. */
export class OpensTooLateError extends InputError {
  override readonly name = 'OpensTooLateError';
  override readonly code = 'opensTooLate';
}

/** The outbox still knows messages, so it cannot be deleted. */
export class OutboxNotEmptyError extends InputError {
  override readonly name = 'OutboxNotEmptyError';
  override readonly code = 'notEmpty';
}

/** Messages that wait in the outbox could not be sent with its new settings: they lack values, or their times cannot be read. */
export class MessagesUnfitError extends InputErrors {
  override readonly name = 'MessagesUnfitError';
  override readonly code = 'messagesUnfit';
}
