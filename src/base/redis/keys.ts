/**
 * The id of a lane: the hash tag of its keys, which never changes. {@link LaneName} is another type, so that no key is made from
 * a name.
 */
export type LaneId = string & { readonly lane?: 'id' };

/** The name of a lane: what people and programs use. */
export type LaneName = string & { readonly lane?: 'name' };

/**
 * The names of all keys. Keys that a script uses together share a hash tag, so that a cluster keeps them on one node: a lane's under
 * `{prefix:id}`, an account's under `{prefix:token:id}`, and the requests for call records of a credential under
 * `{prefix:records:id}`. Everything that Redis stores about a lane refers to its id. The keys of a lane:
 *
 * - `lane`, hash: gate, ledger totals, learned limit, turn, workers (engine/store/record.lua)
 * - `window`, string: the ring of the ledger, 428 buckets of 8 bytes
 * - `claims`, `polls`, hash: claim number → send, or poll, in flight
 * - `unknown`, hash: claim number → batch with an unknown outcome
 * - `states`, hash: campaign → its state, cursor, released ranges, and counts, JSON (engine/store/campaigns.lua)
 * - `running`, sorted set: campaign → virtual start; the lowest is served next
 * - `scheduled`, `lapsing`, `ended`, `importing`, sorted sets: campaign → when it starts or its window opens, lapses, has ended, or
 *   its import's lease expires
 * - `comparing:K`, string with a lifetime: the import that compares its list with the campaigns of a text, none of which may be
 *   committed meanwhile; K is the digest of the text and its sender (intake/import/sent-before.ts)
 * - `failures`, hash, only while turns of the lane fail: stage → since when, and the last error (engine/jobs/turn-failures.ts)
 * - `windows`, hash: rule of a window → when it was used and computed, and its next openings
 * - `unpolled`, `polled`, sorted sets: `campaign:ordinal`, or `outbox:NAME:number:id`, of an accepted request → when its first, or next, poll is due
 * - `requests:K`, hash, with notifications: digest of a request id → its batch
 * - `unnamed`, sorted set, with notifications: batches whose request id is not known
 * - `results`, hash: the log of the lane's results, in chunks of 4,080 entries of 12 bytes, with the ids of campaigns and of lists of
 *   ended messages by their numbers (engine/store/results.lua); `latestResults`, string: its latest entries
 * - `early`, hash, and `waiting`, sorted set: reports for request ids that are not known yet, and until when they wait
 * - `callback`, hash: status of the subscription; `reconciler`, string: lease of the process that checks it
 * - `inboundPending`, hash: message of a person → what has arrived of it, until it is logged; `inboundIds`, hash: digest of the service's id
 *   → its message; `inbound`, stream: the log of messages, with these digests; `inboundMessages`, hash: position in it → the message
 *   (engine/inbound/inbound-store.ts); `confirmed`, sorted set with a lifetime: digests of messages whose stop word was confirmed → when
 *   they arrived
 * - `keyBytes`, hash: what each API key has stored on the lane, in bytes, what each campaign takes, and from which key, the
 *   numbers by which messages name keys (engine/recipients/key-bytes.lua), and what is stored today (daily.lua)
 * - `usage:K`, hash with a lifetime: what was sent on the day K, by API key and tag (engine/store/usage.lua)
 * - `campaign:ID`, `campaign:ID:…`: see engine/recipients/campaign-keys.ts
 * - `templates`, hash: template → its text and its sender, JSON (intake/templates/templates.ts)
 * - `outboxes`, sorted set: outbox → when it next has messages that are due or lapse; `tending`: when it forgets old ones
 * - `outbox:NAME`, hash: settings of an outbox, the earlier ones as `edition:R`; `writer:KIND:ID`: who has stored messages in it; `log:D`:
 *   the number of the list `results:D` in the log of results; `accepted:D`: for how many ids that filter is made. Its state is in `states`
 * - `outbox:NAME:messages`, `outbox:NAME:due`, `outbox:NAME:results:D`, `outbox:NAME:accepted:D`: see engine/recipients/outbox.lua
 */
export function keyNames(prefix: string) {
  return {
    /** One key of a lane, as listed above: `lane('acme', 'claims')`. `id`: the lane's id, which is not always its name. */
    lane: (id: LaneId, key: string): string => `{${prefix}:${id}}:${key}`,
    /** Which lane has a name or credentials. No lane's id contains a colon. */
    registry: {
      /** Hash: lane id → name. */
      names: `{${prefix}:lanes:registry}:names`,
      /** Hash: name → lane id. */
      ids: `{${prefix}:lanes:registry}:ids`,
      /** Hash: HMAC of a service and credentials → lane id. */
      credentials: `{${prefix}:lanes:registry}:credentials`,
      /** Hash: lane id → a lane that is stored here, and not configured (engine/lane/stored-lanes.ts). */
      stored: `{${prefix}:lanes:registry}:stored`,
      /** Sorted set: these lanes by when each was last changed, ms: their revisions. */
      changes: `{${prefix}:lanes:registry}:changes`,
      /** Hash: digest of a callback's address → the id of the lane that subscribed it, also long ago. */
      addresses: `{${prefix}:lanes:registry}:addresses`,
      /** String: the secret of that HMAC. */
      secret: `{${prefix}:lanes:registry}:secret`,
    },
    /**
     * Hash: the tokens of one account, or a login budget. `id` is a digest, never the credentials themselves; with the digest of
     * another account service that a conformance test uses, the key is kept for a day.
     */
    token: (id: string): string => `{${prefix}:token:${id}}`,
    /**
     * The requests for call records of one credential: `request:R`, hash: a request, with the claim under which it was sent; `key:K`,
     * string: the open request with a key; `all`, sorted set: its requests by time; `slots`, sorted set: its requests on the wire, and
     * until when each holds its slot.
     */
    records: (credential: string, key: string): string => `{${prefix}:records:${credential}}:${key}`,
    /** Set: the credentials that have requested call records. */
    recordsCredentials: `${prefix}:records`,
    /** Sorted set, all scores 0: `campaignId laneId`, so that ids, which begin with their time, list in order. */
    campaigns: `${prefix}:campaigns`,
    /** Set: the ids of all lanes that have had a campaign, or a message from a person. */
    lanes: `${prefix}:lanes`,
    /** Sorted set, all scores 0: `name laneId` of each outbox, so that those of one name are found together. */
    outboxes: `${prefix}:outboxes`,
    /** Stream: the latest events of campaigns and lanes, for followers. */
    events: `${prefix}:events`,
    /** Stream: who did what, for as long as `AUDIT_RETENTION` says. */
    audit: `${prefix}:audit`,
    /** Hash in the slot of the audit trail: what the entries of each API key take on each lane, as `lane key`, see key-bytes.lua. */
    auditBytes: `{${prefix}:audit}:keyBytes`,
    /** Hash: the keys of the HTTP API by id. */
    apiKeys: `${prefix}:apiKeys`,
    /** Hash: the ids of revoked keys, and the digests of replaced secrets; each with when it ends, and what authenticates that, JSON. */
    apiKeysRevoked: `${prefix}:apiKeys:revoked`,
    /** Hash with a lifetime: API key → what it may store on a day on each of its lanes (engine/day-limits/share-day.lua). */
    apiKeysShares: (day: number): string => `${prefix}:apiKeys:shares:${day}`,
    /** Hash: when each key was last used, ms. */
    apiKeysUsed: `${prefix}:apiKeys:used`,
    /** String with a lifetime: a session of the console, JSON (app/access/sessions.ts). */
    session: (id: string): string => `${prefix}:session:${id}`,
    /** String with a lifetime: a link that begins a session, by its digest, JSON. */
    signInLink: (digest: string): string => `${prefix}:signInLink:${digest}`,
    /** String: the secret of the cursors and stream ids of the HTTP API. */
    positions: `${prefix}:positions`,
    /** The suppression lists. They share a hash tag, which no lane has, because no lane's id contains a colon. */
    suppression: {
      /** Hash: number, packed → the operation that added it, see change-suppressed.lua. Of a lane, or of the whole installation (null). */
      list: (lane: LaneId | null): string =>
        `{${prefix}:suppression:lists}:${lane === null ? 'all' : `lane:${lane}`}`,
      /** Hash: operation → its record, JSON. */
      operations: `{${prefix}:suppression:lists}:operations`,
      /** String: the id of the latest operation. */
      last: `{${prefix}:suppression:lists}:last`,
      /** Hash: API key → how many numbers are stored because of it, see change-suppressed.lua. */
      addedBy: `{${prefix}:suppression:lists}:addedBy`,
      /** Sorted set: the removals of API keys by until when their numbers are kept, ms. */
      removals: `{${prefix}:suppression:lists}:removals`,
      /** Hash with a lifetime: the numbers that an operation removed, so that it can be undone. */
      removed: (operation: string): string => `{${prefix}:suppression:lists}:removed:${operation}`,
      /** Hash: the id of a lane, or '' for the whole installation → when its list last lost a number, ms. */
      removedAt: `{${prefix}:suppression:lists}:removedAt`,
      /** Hash: keyed digest of a number that was forgotten and stays suppressed for all lanes → when, ms. */
      digests: `{${prefix}:suppression:lists}:digests`,
    },
    /** Requests to forget numbers (app/forget/forget.ts): which are due when, ms; each of them; who works on it; the secret of the digests. */
    forget: {
      due: `{${prefix}:forget:all}:due`,
      request: (id: string): string => `{${prefix}:forget:all}:request:${id}`,
      lease: (id: string): string => `{${prefix}:forget:all}:lease:${id}`,
      secret: `{${prefix}:forget:all}:secret`,
    },
    /** String with a lifetime of a day: the stop word of a number that is confirmed, as `lane digest`. */
    stopConfirmed: (number: string): string => `${prefix}:stopConfirmed:${number}`,
    /** Recurring campaigns. They share a hash tag, which no lane has, because no lane's id contains a colon. */
    schedules: {
      /** Sorted set, all scores 0: `id laneId` of each schedule, which is also what identifies it in the other keys. */
      ids: `{${prefix}:schedules:all}:ids`,
      /** Hash: what each API key has stored on each lane, as `lane key`, see key-bytes.lua. */
      keyBytes: `{${prefix}:schedules:all}:keyBytes`,
      /** Sorted set: the schedules by when each is looked at next, ms. A paused one is not in it. */
      due: `{${prefix}:schedules:all}:due`,
      /** Set: the schedules that are paused because of their failures. */
      failing: `{${prefix}:schedules:all}:failing`,
      /** Sorted set: the follow-ups that have ended, by when, ms. */
      ended: `{${prefix}:schedules:all}:ended`,
      /** Hash: one schedule. */
      one: (ref: string): string => `{${prefix}:schedules:all}:schedule:${ref}`,
      /** Sorted set: its latest occurrences, JSON, by the time at which they were due, ms. */
      occurrences: (ref: string): string => `{${prefix}:schedules:all}:occurrences:${ref}`,
    },
    /** The webhook endpoints of producers. They share a hash tag, which no lane has, because no lane's id contains a colon. */
    webhooks: {
      /** Hash: endpoint → its record, JSON (reporting/webhooks/endpoint.ts). */
      endpoints: `{${prefix}:webhooks:all}:endpoints`,
      /** Sorted set: the endpoints by when a worker is to look at each, ms. */
      due: `{${prefix}:webhooks:all}:due`,
      /** Hash: lane, or `inbound:lane` or `stopped:lane` → what the endpoint has got (reporting/webhooks/sources.ts). */
      cursors: (id: string): string => `{${prefix}:webhooks:all}:cursors:${id}`,
      /** Hash: delivery → the range of the log that it names, JSON; until the endpoint accepts it. */
      deliveries: (id: string): string => `{${prefix}:webhooks:all}:deliveries:${id}`,
      /** Hash: the same for deliveries that were given up on. */
      failed: (id: string): string => `{${prefix}:webhooks:all}:failed:${id}`,
      /** Hash: counts of the endpoint's deliveries; `health`, JSON: how its latest requests went. */
      totals: (id: string): string => `{${prefix}:webhooks:all}:totals:${id}`,
    },
    /**
     * String with a lifetime: the campaign that holds an idempotency key, or, for 24 hours, a content. `{…}:former`, list: the campaigns
     * that held the content before, for as long as they would have.
     */
    idempotency: (digest: string): string => `${prefix}:idempotency:${digest}`,
    /** Sorted set: how many campaigns were removed since the append-only file was last rewritten. */
    removals: `${prefix}:removals`,
    /** String with a lifetime: the outcome of the last attempt to rewrite it, until the next one is due. */
    fileRewrite: `${prefix}:fileRewrite`,
    /** String with a lifetime: set while the next check of old campaigns is not due. */
    oldCampaignsChecked: `${prefix}:oldCampaignsChecked`,
    /** String: the format of everything else (engine/recovery/data-format.ts). */
    format: `${prefix}:format`,
    /** Sorted set: worker processes by the time of their last heartbeat. */
    workers: `${prefix}:workers`,
    /** Hash: worker process → a keyed hash of each setting of its lanes, JSON (recovery/lane-settings.ts). */
    workerSettings: `${prefix}:workers:settings`,
    /** Sorted set with a lifetime: `loss lane`, the latest losses of data, by time. Each worker looks here for those of its lanes. */
    losses: `${prefix}:losses`,
    /** Hash: lane id → the highest claim that no crash and no failover can lose; `:data` → the id of this data (highest-claims.ts). */
    highestClaims: `${prefix}:highestClaims`,
    /** Sorted set: the lanes by when each is due for a sweep, ms. */
    due: `${prefix}:due`,
    /** String with a lifetime, which shows its age: when these lanes were last swept. */
    swept: (lanes: string): string => `${prefix}:swept:${lanes}`,
    /** String with a lifetime: set once it is reported that a reshard has left the slot of this lane between two nodes. */
    unfinishedMove: (id: LaneId): string => `${prefix}:unfinishedMove:${id}`,
    /** BullMQ's own prefix; each queue has its own hash tag. */
    queue: (name: string): string => `{${prefix}-${name}}`,
    /** Set: the lanes that were woken while a turn of this stage served them. */
    woken: (stage: string): string => `{${prefix}-${stage}}:woken`,
  };
}

/** See {@link keyNames}. */
export type Keys = ReturnType<typeof keyNames>;
