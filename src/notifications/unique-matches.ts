/** A batch that a request with an unknown id may be. */
export interface CandidateBatch {
  /** Its claim. */
  readonly number: number;
  readonly campaign: string;
  /** Ordinal of its first recipient. */
  readonly first: number;
  /** Without `tel:`. */
  readonly sender: string;
  /** Digits, in the order of the batch. */
  readonly recipients: readonly string[];
  /** In ms of Redis time; 0 if it is not known. */
  readonly claimedAt: number;
  /** The request that the batch is matched to, while a poll of it is due; null for none. */
  readonly matchedRequestId: string | null;
  /** The outcome is known (the batch was resolved, or accepted without an id), but the id of its request is not. */
  readonly isSettled: boolean;
}

/** A request that was reported and whose id Volley does not know. */
interface UnknownRequest {
  readonly requestId: string;
  /** Without `tel:`; null if the notification names none. */
  readonly sender: string | null;
  /** Digits of the recipients that were reported. */
  readonly numbers: readonly string[];
  /** When its first report came, in ms of Redis time. */
  readonly receivedAt: number;
  /** The batch that our correlator names, if the notification repeats it. */
  readonly correlated?: { readonly campaign: string; readonly first: number } | null;
}

/**
 * Pairs requests with the batches of unknown outcome that they may be. A request fits a batch if the sender is the same, the
 * batch has all its numbers, the batch was claimed before the first report came, and the correlator, if there is one, names it.
 *
 * A pair counts only if it is unique: the request fits no other batch, and the batch fits no other request. Batches that are
 * matched or settled already form no pair, but they count as alternatives: either may turn out to be the request's batch. Pure.
 */
export function uniqueMatches(
  batches: readonly CandidateBatch[],
  requests: readonly UnknownRequest[],
): { batch: CandidateBatch; requestId: string }[] {
  const byNumber = new Map<string, Set<CandidateBatch>>();
  for (const batch of batches) {
    for (const number of batch.recipients) {
      byNumber.set(number, (byNumber.get(number) ?? new Set()).add(batch));
    }
  }
  const fits = ({ sender, numbers, receivedAt, correlated = null }: UnknownRequest, batch: CandidateBatch) =>
    (sender === null || batch.sender === sender) &&
    batch.claimedAt <= receivedAt &&
    (correlated === null || (correlated.campaign === batch.campaign && correlated.first === batch.first)) &&
    numbers.every((number) => byNumber.get(number)?.has(batch) === true);

  // By batch, the one request that fits it; null once there are several, or if that request fits other batches as well.
  const candidates = new Map<CandidateBatch, string | null>();
  for (const request of requests) {
    const [number = ''] = request.numbers;
    const fitting = [...(byNumber.get(number) ?? [])].filter((batch) => fits(request, batch));
    for (const batch of fitting) {
      candidates.set(batch, fitting.length === 1 && !candidates.has(batch) ? request.requestId : null);
    }
  }
  const matched = new Set(batches.map(({ matchedRequestId }) => matchedRequestId));
  return [...candidates].flatMap(([batch, requestId]) => {
    const isOpen = batch.matchedRequestId === null && !batch.isSettled;
    return requestId !== null && isOpen && !matched.has(requestId) ? [{ batch, requestId }] : [];
  });
}
