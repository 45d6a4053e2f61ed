/** How the one subscription that a lane may have stands at the service. */
export type Subscription =
  /** Notifications come to us. */
  | { readonly state: 'ours'; readonly url: string }
  /** It is of an earlier address or token of ours: notifications do not reach us, or do not prove themselves. */
  | { readonly state: 'outdated'; readonly url: string }
  /** Somebody else's. */
  | { readonly state: 'foreign'; readonly url: string }
  | { readonly state: 'none' }
  /** Nobody knows: the service said why, or said nothing. `final`: asking again will not help. */
  | { readonly state: 'unanswered'; readonly reason: string; readonly final: boolean };

/** What came of a wish to subscribe. `replaced`: what was there before. */
export type Subscribed =
  | { readonly outcome: 'already'; readonly url: string }
  | { readonly outcome: 'created'; readonly url: string; readonly replaced: 'none' | 'outdated' | 'foreign' }
  /** Somebody else's is there, and was left alone. */
  | { readonly outcome: 'foreign'; readonly url: string }
  /** 400 or 406, or any other clear no. */
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unanswered'; readonly reason: string };

/** What came of a wish to end it. */
export type Unsubscribed =
  | { readonly outcome: 'deleted'; readonly url: string }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'foreign'; readonly url: string }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unanswered'; readonly reason: string };

/** The subscription of one lane. Its calls take no permit, because the service does not count them. */
export interface SubscriptionDesk {
  /** Tells address and token of ours from any others, and gives neither away; '' where there are none. */
  readonly mark: string;
  get(): Promise<Subscription>;
  /**
   * Subscribes, or renews what is outdated; `force` replaces somebody else's, too. What is outdated after it was ours is
   * somebody else's who has our secret, another installation: two that renew it would take it from each other for ever.
   */
  create(options?: { force?: boolean }): Promise<Subscribed>;
  /** Ends ours; `force` ends somebody else's, too. */
  remove(options?: { force?: boolean }): Promise<Unsubscribed>;
}
