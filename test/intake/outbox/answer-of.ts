import { MessageLateError } from '../../../src/intake/outbox/definition/errors.js';

/** The outcome of a put or a cancel, or the code with which it came too late. */
export const answerOf = (doing: Promise<{ readonly outcome: string }>): Promise<string> =>
  doing.then(
    ({ outcome }) => outcome,
    (error: unknown) => {
      if (error instanceof MessageLateError) return error.code;
      throw error;
    },
  );
