import type { DeliveredEvent } from '../../campaign/views/webhook-events.js';
import type {
  FailedDelivery,
  Webhook,
  WebhookTest,
  WebhookWithSecret,
} from '../../campaign/views/webhook-views.js';

/*
 * What programs can do with webhooks (webhooks.ts).
 */

/** Outboxes or tags in a filter. */
export const MAX_FILTER = 100;

/** Which endpoints to look for. */
export interface WebhookChoice {
  /** Only endpoints whose lanes are all among these; default: all. */
  readonly lanes?: readonly string[] | undefined;
}

/** Where an endpoint is, and which events it gets. */
export interface WebhookSettings {
  /** An https address. */
  readonly url: string;
  /** The types of events; default: all. */
  readonly events?: readonly DeliveredEvent[] | undefined;
  /**
   * Only results of these outboxes. With `tags`, also those of campaigns and outboxes with one of these tags. Events that belong to no
   * campaign or outbox then come only if `events` names them.
   */
  readonly outboxes?: readonly string[] | undefined;
  /** Only results and states of campaigns, and results of outboxes, that have one of these tags. */
  readonly tags?: readonly string[] | undefined;
}

/** What a new endpoint is. */
export interface NewWebhook extends WebhookSettings {
  /** The lanes whose events it gets; default: all, also those that are added later. */
  readonly lanes?: readonly string[] | undefined;
}

/** A page of events that were given up on, by their ids, and the `cursor` of the next one; null on the last one. */
export interface FailedPage {
  readonly failed: readonly FailedDelivery[];
  readonly nextCursor: string | null;
}

/**
 * Endpoints of producers, to which Volley posts what becomes of their recipients. Methods reject with a `NotFoundError` if there is no such
 * endpoint, and with an `InputError` if it was changed at the same time.
 */
export interface Webhooks {
  /**
   * Adds an endpoint, which gets what happens from now on. Only this result, and that of `rotate`, contains its secret. Rejects with an
   * `InputError` if the address is invalid, SECRETS_KEY is not set, or there are too many endpoints: 1,000 in an installation, 20 of an API
   * key, and 50 that name a lane.
   */
  add(webhook: NewWebhook): Promise<WebhookWithSecret>;
  /** Lists the endpoints, oldest first. */
  list(choice?: WebhookChoice): Promise<Webhook[]>;
  get(id: string, choice?: WebhookChoice): Promise<Webhook>;
  /** Removes an endpoint, and what it has not accepted yet. */
  remove(id: string): Promise<void>;
  /** Posts an event of the type `webhook.test` at once, and returns what the endpoint answered. */
  test(id: string): Promise<WebhookTest>;
  /** Gives an endpoint another secret. Its events are signed with the former one, too, for `overlap` more, at most `30d`, default `1d`. */
  rotate(id: string, options?: { readonly overlap?: string | undefined }): Promise<WebhookWithSecret>;
  /**
   * Replaces the address of an endpoint, and which events it gets; it keeps its lanes and its secret. What it has not accepted yet goes to
   * the new address.
   */
  set(id: string, settings: WebhookSettings): Promise<Webhook>;
  /**
   * Gives an endpoint to the API key that asks, or to `key`, with which it then ends; without either, it stays until it is removed. If it was
   * disabled because its former key had ended, it is enabled. Rejects with an `InputError` if the key does not work, may not read all that
   * the endpoint gets, or has too many.
   */
  assign(id: string, options?: { readonly key?: string | undefined }): Promise<Webhook>;
  /**
   * Enables an endpoint: it gets everything since it was disabled, as far as it is kept. Rejects with an `InputError` if its API key does
   * not work any more.
   */
  enable(id: string): Promise<Webhook>;
  disable(id: string): Promise<Webhook>;
  /** Lists the events that were given up on, by their ids, in pages. `limit`: 1 to 500, default 100. */
  failed(
    id: string,
    options?: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  ): Promise<FailedPage>;
  /** Sends them again, or only one of them. Returns how many. */
  replay(id: string, options?: { readonly delivery?: string | undefined }): Promise<number>;
}
