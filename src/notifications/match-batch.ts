/** A batch of unknown outcome, and what is known of the request that may have been accepted. */
export interface OpenBatch {
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
  /** Without `tel:`. */
  readonly sender: string;
  /** Digits, in the order of the batch. */
  readonly recipients: readonly string[];
  /** Time of the server; 0 where it is not known. */
  readonly claimedAt: number;
  /** The request that the service is being asked about for it; null for none. */
  readonly suspect: string | null;
  /** It is unknown no more, but the id of its request is: by somebody's word, or accepted without one. */
  readonly isSettled: boolean;
}

/** What waits under an id that nobody knows. */
export interface Nameless {
  readonly requestId: string;
  /** Without `tel:`; null where it was not told. */
  readonly sender: string | null;
  /** Digits of those it speaks of. */
  readonly numbers: readonly string[];
  /** When it was first told of, in the time of the server. */
  readonly cameAt: number;
  /** The batch that our correlator names, where the notification repeats it. */
  readonly named?: { readonly campaign: string; readonly first: number } | null;
}

/**
 * Which request each batch of unknown outcome may be: one that goes by its sender, speaks of its recipients only, was
 * not told of before the batch was claimed, and where it repeats our correlator names this batch. A pair is named only if
 * it is the one way to pair both: two batches that a request fits, or two requests that fit one batch, tell nothing.
 * Batches and requests that are asked about already are no pair, but count among the ways: until the service has
 * answered, each may be the other's; so do batches that are settled and whose request has an id that nobody knows. Pure.
 */
export function fitting(
  batches: readonly OpenBatch[],
  requests: readonly Nameless[],
): { batch: OpenBatch; requestId: string }[] {
  const byNumber = new Map<string, OpenBatch[]>();
  for (const batch of batches) {
    for (const number of batch.recipients) {
      const held = byNumber.get(number);
      if (held === undefined) byNumber.set(number, [batch]);
      else held.push(batch);
    }
  }
  const asked = new Set(batches.map(({ suspect }) => suspect));
  // The one request that fits it; null: there are several, or one that fits others as well.
  const fits = new Map<OpenBatch, string | null>();
  for (const { requestId, sender, numbers, cameAt, named = null } of requests) {
    const [first, ...others] = numbers;
    if (first === undefined) continue;
    const found = (byNumber.get(first) ?? []).filter(
      (batch) =>
        batch.claimedAt <= cameAt &&
        (named === null || (named.campaign === batch.campaign && named.first === batch.first)) &&
        (sender === null || batch.sender === sender) &&
        others.every((number) => byNumber.get(number)?.includes(batch) === true),
    );
    // One that fits several speaks against each of them being the only one of another request.
    for (const batch of found) fits.set(batch, found.length === 1 && !fits.has(batch) ? requestId : null);
  }
  return [...fits].flatMap(([batch, requestId]) =>
    requestId === null || batch.suspect !== null || batch.isSettled || asked.has(requestId)
      ? []
      : [{ batch, requestId }],
  );
}
