/** What stands between a sentence and the message of the service. */
export const SAYS = ' The service says: ';

/** A sentence of a reason, and the message of the service that may follow it. */
export function withoutMessage(reason: string): {
  readonly plain: string;
  readonly details: string | null;
} {
  const [plain = '', ...message] = reason.split(SAYS);
  return { plain, details: message.length === 0 ? null : message.join(SAYS) };
}
