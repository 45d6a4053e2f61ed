/** A campaign in the fair order of its lane (lane/campaign.lua): its next request is served at `virtual`, the next ones 1 / weight apart. */
export interface QueuedCampaign {
  readonly id: string;
  readonly virtual: number;
  readonly weight: number;
  /** Requests that it still has to send. */
  readonly requests: number;
}

/** A new campaign joins this many requests ahead of the lane's virtual time, as HEAD_START in lane/policy.lua. */
const HEAD_START = 5;
/** Virtual times are sums of quarters, so they differ by at least this much. */
const TIE = 1e-6;

/**
 * The order in which a lane sends the requests of its campaigns, without listing them: the position of a campaign's last
 * request follows from the virtual times. `virtualTime` is that of the lane, and `first` are the campaigns that send now, which may be
 * shared by several orders. Positions count the requests sent from now on.
 */
export function sendOrder(
  own: string,
  virtualTime: number,
  first: ReadonlyMap<string, QueuedCampaign> = new Map(),
) {
  let queued = first;
  let reached = virtualTime;
  let requestsOfAll: number | undefined;

  const servedBefore = ({ virtual, weight, requests }: QueuedCampaign, level: number): number =>
    Math.min(requests, Math.max(0, Math.ceil((level - virtual) * weight - TIE)));

  const put = (campaign: QueuedCampaign): void => {
    queued = new Map(queued).set(campaign.id, campaign);
    requestsOfAll = undefined;
  };

  const total = (): number => {
    requestsOfAll ??= sumOf(queued, ({ requests }) => requests);
    return requestsOfAll;
  };

  /** The virtual time after this many requests. */
  const levelAfter = (sent: number): number => {
    if (sent <= 0) return reached;
    const all = [...queued.values()];
    let low = Math.min(reached, ...all.map(({ virtual }) => virtual));
    let high = Math.max(reached, ...all.map(({ virtual, requests, weight }) => virtual + requests / weight));
    while (high - low > TIE) {
      const middle = (low + high) / 2;
      if (sumOf(queued, (campaign) => servedBefore(campaign, middle)) < sent) low = middle;
      else high = middle;
    }
    reached = Math.max(reached, high);
    return reached;
  };

  return {
    total,
    /** Adds a campaign of this many requests after `sent` requests; `virtual` is known if it has been in the order before. */
    join(campaign: Omit<QueuedCampaign, 'virtual'>, sent: number, virtual?: number): void {
      put({ ...campaign, virtual: virtual ?? Math.max(0, levelAfter(sent) - HEAD_START) });
    },
    /** Removes what a campaign has not sent after `sent` requests. */
    lapse(id: string, sent: number): void {
      const campaign = queued.get(id);
      if (campaign === undefined) return;
      put({ ...campaign, requests: servedBefore(campaign, levelAfter(sent)) });
    },
    /** The position of the own campaign's last request, after `sent` requests. Undefined before it has joined. */
    lastPosition(sent: number): number | undefined {
      const campaign = queued.get(own);
      if (campaign === undefined) return undefined;
      const last = campaign.virtual + (campaign.requests - 1) / campaign.weight;
      const level = Math.max(last, sent === 0 ? last : levelAfter(sent));
      const others = sumOf(queued, (other) => {
        if (other.id === own) return 0;
        // Requests with the same virtual time are sent in the order of the ids.
        return servedBefore(other, level + (other.id < own ? 2 * TIE : 0));
      });
      return others + campaign.requests;
    },
  };
}

function sumOf(
  queued: ReadonlyMap<string, QueuedCampaign>,
  of: (campaign: QueuedCampaign) => number,
): number {
  let sum = 0;
  for (const campaign of queued.values()) sum += of(campaign);
  return sum;
}

/** See {@link sendOrder}. */
export type SendOrder = ReturnType<typeof sendOrder>;
