/** A batch of unknown outcome, and what is known of the request that may have been accepted. */
export interface OpenBatch {
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
  /** Without `tel:`. */
  readonly sender: string;
  /** Digits, in the order of the batch. */
  readonly recipients: readonly string[];
}

/** What waits under an id that nobody knows. */
export interface Nameless {
  readonly requestId: string;
  /** Without `tel:`; null where it was not told. */
  readonly sender: string | null;
  /** Digits of those it speaks of. */
  readonly numbers: readonly string[];
}

/**
 * Which request each batch of unknown outcome may be: one that goes by its sender and speaks of its recipients only. A
 * pair is named only if it is the one way to pair both: two batches that a request fits, or two requests that fit one
 * batch, tell nothing. Pure.
 */
export function fitting(
  batches: readonly OpenBatch[],
  requests: readonly Nameless[],
): { batch: OpenBatch; requestId: string }[] {
  const byNumber = new Map<string, OpenBatch[]>();
  for (const batch of batches) {
    for (const number of batch.recipients) byNumber.set(number, [...(byNumber.get(number) ?? []), batch]);
  }
  const fits = new Map<OpenBatch, string[]>();
  for (const { requestId, sender, numbers } of requests) {
    const [first, ...others] = numbers;
    if (first === undefined) continue;
    const found = (byNumber.get(first) ?? []).filter(
      (batch) =>
        (sender === null || batch.sender === sender) &&
        others.every((number) => byNumber.get(number)?.includes(batch) === true),
    );
    // One that fits several speaks against each of them being the only one of another request.
    for (const batch of found) {
      fits.set(batch, [
        ...(fits.get(batch) ?? []),
        ...(found.length === 1 ? [requestId] : [requestId, requestId]),
      ]);
    }
  }
  return [...fits].flatMap(([batch, [requestId, ...more]]) =>
    requestId === undefined || more.length > 0 ? [] : [{ batch, requestId }],
  );
}
