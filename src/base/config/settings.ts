import { z } from 'zod';
import { INSECURE } from './cleartext.js';
import { authorization, xAuthorization } from './credentials.js';
import * as formats from './formats.js';
import { count, duration, megabytes, oneOf, orAuto, orNever, secretsKey } from './formats.js';
import { MAX_HOURLY_QUOTA, MAX_RECIPIENTS_PER_REQUEST } from './lane.js';

/**
 * A setting whose value becomes this member of the configuration (config.ts); a dot leads into a group. The values of other settings
 * are combined.
 */
function into<const Member extends string, Schema extends z.ZodType>(member: Member, schema: Schema) {
  return Object.assign(schema.meta({ ...schema.meta() }), { member });
}

/**
 * A secret that can be read from a file: `API_KEY_FILE` names the file that contains `API_KEY`. `every` process needs it, or only one
 * that calls the `service`.
 */
function inFile<Schema extends z.ZodType>(neededBy: 'every' | 'service', schema: Schema): Schema {
  return schema.meta({ ...schema.meta(), inFile: neededBy });
}

/**
 * Every setting: its name, the member of the configuration that it becomes, format, default (as a user writes it), and purpose.
 * `.env.example` is generated from this table: run `npm run env:example` after a change.
 */
export const SECTIONS = {
  'The service': {
    MESSAGING_BASE_URL: z
      .optional(formats.baseUrl('/outbound', 'https://host.example/smsmessaging/v1'))
      .describe(`
        Address of the messaging service. Required, except with \`volley up --simulator\`.`),
    ACCOUNT_BASE_URL: z.optional(formats.baseUrl('/api/login', 'https://host.example')).describe(`
        Address of the account service, which issues tokens. Default: the origin of MESSAGING_BASE_URL.
        Set it if the two services have different hosts.`),
    TOKEN_URL: z.optional(formats.tokenUrl).describe(`
        Address at which OAuth 2 clients get their tokens. Required if LANES_FILE has lanes with "profile": "v3".`),
    API_KEY: z.optional(inFile('service', formats.apiKey)).describe(`
        API key of a single lane, which is named "default". Set API_KEY, ACCOUNT_USERNAME with ACCOUNT_PASSWORD, both,
        or LANES_FILE.`),
    ACCOUNT_USERNAME: z.optional(inFile('service', z.string())).describe(`
        User name of an account. Volley logs in with it and uses a token instead of an API key.`),
    ACCOUNT_PASSWORD: z.optional(inFile('service', z.string())).describe(`
        Password of ACCOUNT_USERNAME. If the service refuses it twice, Volley stops logging in, so that the service
        does not lock the account.`),
    ACCOUNT_TARGET_ID: z.optional(z.string()).describe(`
        Child organisation to act for. Set it only if the account belongs to a reseller.`),
    AUTHORIZATION_HEADER: z.optional(authorization).describe(`
        What the Authorization header carries. Required if you set both API_KEY and ACCOUNT_USERNAME, because how the two
        relate is not documented. Otherwise it carries the one that is set.`),
    X_AUTHORIZATION_HEADER: z.optional(xAuthorization).describe(`
        Whether requests also carry the account's access token in X-Authorization. Required if you set both API_KEY and
        ACCOUNT_USERNAME. Otherwise the default is "none".`),
    HTTPS_PROXY: z.optional(inFile('service', formats.proxyUrl)).describe(`
        Proxy for services with an https address, such as http://user:password@proxy.example:3128.`),
    NO_PROXY: z.optional(z.string()).describe(`
        Hosts that Volley reaches without the proxy, separated by commas. Each includes its subdomains; "*" means all.`),
    SERVICE_CA_FILE: z.optional(z.string()).describe(`
        File with certificates (PEM) that Volley trusts for the services in addition to the public ones, such as that of
        your own proxy.`),
    HOURLY_QUOTA: z.prefault(orAuto(count(1, MAX_HOURLY_QUOTA, 'requests an hour')), 'auto').describe(`
        Requests per hour that the API key may make; sends and polls count together. Set it if you know the number.
        With "auto", Volley learns it from the service's 429 responses.`),
    SEND_WINDOW: z.optional(z.string()).describe(`
        When the single lane may send: days and hours such as "Mon-Sat 09:00-20:00", several separated by commas. Campaigns
        and outboxes may have windows of their own; both apply. Default: at any time.`),
    SEND_WINDOW_ZONE: z.optional(z.string()).describe(`
        Time zone of SEND_WINDOW, such as Europe/Paris. Required with it.`),
    SEND_WINDOW_EXCEPT: z.optional(formats.dates).describe(`
        Dates on which SEND_WINDOW is closed, separated by commas: 2030-05-01,2030-12-25.`),
    LANE_LIMITS: z.optional(formats.limits).describe(`
        What everyone may send on the single lane, as JSON: {"senders":["ACME"],"countries":["GB"],"maxSegments":3,
        "recipientsPerDay":5000,"costPerDay":"50 EUR"}, with any of these members. Default: anything.`),
    LANES_FILE: z.optional(z.string()).describe(`
        Path of a JSON file with several lanes, one per API key or account. Set it instead of API_KEY. Example:
          [{ "name": "acme", "apiKeyEnv": "ACME_KEY", "hourlyQuota": 5000 }]
        Credentials are apiKeyEnv (the name of the variable that contains the key), apiKey, or
          "account": { "usernameEnv": "ACME_USER", "passwordEnv": "ACME_PASSWORD", "targetAccountId": "…" }
        A lane with both says what each header carries: "authorization" ("apiKey" or "accessToken") and
        "xAuthorization" ("none" or "accessToken"). A lane of version 3 of the service (docs/services.md) has
          "profile": "v3", "client": { "idEnv": "ACME_ID", "secretEnv": "ACME_SECRET", "product": "sms-a2p-marketing" }
        Optional fields: baseUrl (default: MESSAGING_BASE_URL), hourlyQuota, maxRecipientsPerRequest, pollShare (0 to
        0.9, default 0.2), pacing ("burst" or "smooth"), unknownOutcome ("hold", "abandon after 24h" or "resend after
        24h"), and clientCorrelator ("off", "send", or "deduplicates: 24h" if the service remembers correlators for 24
        hours). A lane that sends only at certain times has "zone": "Europe/Paris" and
          "window": { "hours": "Mon-Sat 09:00-20:00", "except": ["2030-05-01"] }
        HOURLY_QUOTA and MAX_RECIPIENTS_PER_REQUEST apply to lanes that do not set them.`),
  },
  Campaigns: {
    SENDER_ADDRESS: z.optional(into('senderAddress', formats.sender)).describe(`
        Sender of campaigns that do not set one. Recipients cannot reply to a text sender, and most networks reject it.`),
    SENDER_NAME: z.optional(into('senderName', z.string())).describe(`
        Name of the sending application, passed to the service with each request.`),
    DEFAULT_COUNTRY: z.optional(into('defaultCountry', formats.country)).describe(`
        Country of phone numbers in national format. If not set, only international numbers (+44…) are valid,
        because a wrong guess would text strangers.`),
    NUMBER_KINDS: z.prefault(into('numberKinds', oneOf('any', 'mobile')), 'any').describe(`
        Which numbers a list may contain. With "mobile", numbers that are known to be landline, premium rate, shared cost,
        or voicemail numbers are invalid. With "any", \`volley preview\` counts them and warns: the service restricts no
        destination, and which landlines receive messages depends on the country.`),
    PRICE_PER_SEGMENT: z.optional(formats.price).describe(`
        What the service charges for each segment. With it, previews and statuses show what a campaign costs, and
        \`--max-cost\` limits it; see docs/campaign-options.md.`),
    PRICE_FILE: z.optional(z.string()).describe(`
        Path of a CSV file with the prices of numbers by their first digits, in the columns "prefix" and "price", such as
        +44,0.042 EUR. The longest prefix counts. PRICE_PER_SEGMENT is the price of all other numbers.`),
    MAX_SCHEDULE_AHEAD: z.prefault(into('maxScheduleAheadMs', duration('1m', '365000d')), '365d').describe(`
        How far in the future a campaign may start. Its numbers are stored until then.`),
  },
  Redis: {
    REDIS_URL: z.optional(inFile('every', formats.redisUrl)).describe(`
        Redis server that stores the campaigns. Default: the server that \`volley up\` runs on this machine.`),
    REDIS_PASSWORD: z.optional(inFile('every', z.string().meta(formats.SECRET))).describe(`
        Password of REDIS_URL, if that contains none. Unlike there, special characters are not escaped.`),
    REDIS_PREFIX: z.prefault(into('redisPrefix', formats.redisPrefix), 'volley').describe(`
        Start of every Redis key. Change it if several installations share a server.`),
    REDIS_MAY_LOSE: z.prefault(into('redisMayLoseMs', orAuto(duration('0s', '1m'))), 'auto').describe(`
        How much of its acknowledged writes Redis may lose in a power cut or failover. A process, a campaign, and
        a resume wait for this long before their first message, so that a lost record does not cause a second send.
        With "auto", Volley asks Redis: nothing with appendfsync always and no replica, 2s with appendfsync everysec;
        with replicas, min-replicas-max-lag or 1.5 times cluster-node-timeout, plus 5s. If it has replicas and
        neither applies, or does not reveal its settings, workers start only if you set this: to the longest time
        for which a master that is cut off accepts writes. Up to 2s, the value counts only for a server without a
        replica: with one, workers do not send. 0s is right for one server with appendfsync always.`),
    STATE_FILE: z.optional(into('stateFile', z.string())).describe(`
        File in which workers record which claims Redis must know. Put it on a volume that survives restarts, but not on that
        of Redis; workers of one machine may share it. If you restore a backup of Redis, the worker then holds all lanes, so
        that it does not repeat what was sent after the backup. Without the file, run \`volley doctor --restored\` before you
        start workers.`),
    RETENTION: z.prefault(into('retentionMs', duration('1m', '3650d')), '30d').describe(`
        How long to keep the data of a finished campaign. Volley then deletes its phone numbers and texts, and
        within a day also those in the append-only file of Redis.`),
    MAX_CAMPAIGN_AGE: z.prefault(into('maxCampaignAgeMs', duration('1h', '3650d')), '90d').describe(`
        Time after its start at which Volley ends a campaign that does not end by itself, for example because it is paused
        or has an unknown outcome. Its unsent recipients lapse. FOLLOW_UP_DEADLINE later (at once with "never"), its other
        recipients are abandoned or unconfirmed, and RETENTION begins.`),
    AUDIT_RETENTION: z.prefault(into('auditRetentionMs', duration('1h', '3650d')), '365d').describe(`
        How long to keep the audit trail, which says who did what (\`volley audit\`). It contains no phone numbers.`),
    SECRETS_KEY: z.optional(into('secretsKey', inFile('every', secretsKey))).describe(`
        Key that encrypts the tokens in Redis and authenticates API keys. If not set, anyone who can read Redis can read the
        tokens, and anyone who can write to it can create API keys. Set the same key for all processes. To change it, see
        SECRETS_KEY_PREVIOUS.`),
    SECRETS_KEY_PREVIOUS: z.optional(into('previousSecretsKey', inFile('every', secretsKey))).describe(`
        The former SECRETS_KEY, after you have changed it. Tokens and API keys that were made with it still work, and Volley
        stores them with SECRETS_KEY when they are used. Remove it when \`volley doctor\` says that no API key needs it.`),
    ALLOW_INSECURE: z.optional(formats.someOf(INSECURE)).describe(`
        What may be unprotected off this machine, separated by commas: "service" (http addresses of the services),
        "redis" (a Redis without a password), "tokens" (unencrypted tokens of accounts), and "keys" (an HTTP API on
        another address than that of this machine without SECRETS_KEY). If not set, Volley refuses all of them.`),
  },
  'Sending and following up': {
    QUOTA_WINDOW_MS: z
      .prefault(into('quotaWindowMs', count(1_000, 86_400_000, 'milliseconds')), '3600000')
      .describe(`
        Window that the quota applies to. Keep the default; tests and demos use shorter windows.`),
    MAX_RECIPIENTS_PER_REQUEST: z.prefault(count(1, MAX_RECIPIENTS_PER_REQUEST, 'recipients'), '1').describe(`
        Recipients per send request. Raise it if the service accepts requests that contain an invalid number: its
        documentation does not say what happens to the other recipients.`),
    REQUEST_TIMEOUT_MS: z
      .prefault(into('requestTimeoutMs', count(50, 300_000, 'milliseconds')), '30000')
      .describe(`
        How long to wait for a response before the outcome of a request is unknown. At most a tenth of
        QUOTA_WINDOW_MS, because a permit is held back until its request can no longer arrive.`),
    FOLLOW_UP_FIRST_MS: z
      .prefault(into('followUpFirstMs', count(1, 86_400_000, 'milliseconds')), '15000')
      .describe(`
        Time from a request to its first poll, until the delivery times of the lane are known.`),
    FOLLOW_UP_DEADLINE: z.prefault(orNever(duration('1s', '30d')), '72h').describe(`
        How long to poll for delivery reports. Recipients without a final report by then become "unconfirmed".
        Phones may be switched off for days. With "never", Volley polls until every recipient has a final status, less
        and less often, or the campaign reaches MAX_CAMPAIGN_AGE.`),
  },
  Notifications: {
    CALLBACK_URL: z.optional(formats.callbackUrl).describe(`
        Public address of the notification receiver. If set, Volley subscribes each lane with a secret path below
        it, and a notification replaces the polls of its request. If not set, Volley polls every request.`),
    CALLBACK_SECURITY_TOKEN: z.optional(inFile('every', formats.securityToken)).describe(`
        Secret from which each lane's secret path and security token are derived. Required with CALLBACK_URL. Set the
        same value for all processes.`),
    CALLBACK_PROOF: z.prefault(oneOf('token', 'path'), 'token').describe(`
        How a notification proves that the service sent it: with its security token, or with the secret path alone.
        Set "path" only if the service does not send the token. Anyone who can read the path, such as in a proxy's
        log, can then forge notifications.`),
  },
  Replies: {
    STOP_WORDS: z
      .prefault(
        into('replies.stopWords', formats.words),
        'stop,stopall,unsubscribe,cancel,end,quit,revoke,opt out,arret,stopp',
      )
      .describe(`
        Replies that stop all further messages to their sender, separated by commas. A reply counts if it consists of one of
        them; case, accents, spaces, and punctuation do not matter.`),
    START_WORDS: z.prefault(into('replies.startWords', formats.words), 'start,unstop').describe(`
        Replies that lift what a stop word has done, and nothing else.`),
    STOP_SCOPE: z.prefault(into('replies.stopScope', oneOf('lane', 'all')), 'lane').describe(`
        Whether a stop word counts for the lane of the number that it was sent to, or for all lanes. With "all", an API key
        with the scope "inbound" stops messages of all lanes, even if it is limited to one.`),
    STOP_REPLY: z.optional(into('replies.stopReply', formats.plainText)).describe(`
        Text that confirms a stop word. Volley sends it from the number that got the stop word, if that has sent its sender a
        message before, within 5 minutes or not at all, and at most once a day to each number. Default: no confirmation.`),
  },
  Webhooks: {
    WEBHOOK_ALLOW: z.optional(into('webhookAllow', formats.networks)).describe(`
        Addresses or networks, separated by commas, such as 10.0.0.0/8, to which Volley sends webhooks although they are not
        public. Whenever it connects, it refuses all other private addresses, and this machine.`),
  },
  'Call records': {
    RECORDS_CONTRACT: z.optional(into('records.contractFile', z.string())).describe(`
        Path of a JSON file that says how the service takes requests for call records; see docs/call-records.md. Without
        it, there are no call records: the documentation of the service does not show how to request them.`),
    RECORDS_CLIENT_ID: z.optional(into('records.client.id', inFile('service', z.string()))).describe(`
        Id of the OAuth 2 client of a contract that has one. Without one, requests carry the credentials of their lane.`),
    RECORDS_CLIENT_SECRET: z
      .optional(into('records.client.secret', inFile('service', z.string())))
      .describe('Secret of RECORDS_CLIENT_ID. It is sent to the token address of the contract only.'),
    RECORDS_IN_FLIGHT: z.prefault(into('records.inFlight', count(1, 32, 'requests')), '1').describe(`
        Requests for call records that may be on the wire per credential at a time. Set the same value for all processes.`),
  },
  'HTTP API': {
    HTTP_HOST: z.prefault(into('http.host', formats.host), '127.0.0.1').describe(`
        Address that the HTTP API listens on. The API uses plain HTTP: put a TLS proxy in front before you expose it.`),
    HTTP_PORT: z.prefault(into('http.port', formats.port), '8080').describe('Port of the HTTP API.'),
    CONSOLE_URL: z.optional(into('http.consoleUrl', formats.consoleUrl)).describe(`
        Address of the TLS proxy at which browsers on other machines reach the console, such as https://volley.example. Under
        any name but that and those of this machine, Volley serves no console and accepts no session, because a web page could
        use that name to act for its visitor.`),
    HTTP_REQUESTS_PER_MINUTE: z
      .prefault(into('http.requestsPerMinute', count(1, 1_000_000, 'requests')), '600')
      .describe(`
        Requests per minute that each API key may make to each process, and as many at once after a quiet minute. A page
        of a list counts as several, by its size. Each address may make as many without a key, for the documentation.
        Requests that pause, resume, cancel, or resolve have a limit of their own, and so have event streams.`),
    HTTP_MB_PER_MINUTE: z.prefault(into('http.bytesPerMinute', megabytes(1, 1_000_000)), '1000').describe(`
        Megabytes per minute that the requests and responses of each API key may transfer with each process. Volley never
        cuts off a request that has begun; later uploads and reports have to wait.`),
    KEY_MEMORY_MB: z.prefault(into('keyBytes', megabytes(1, 1_000_000)), '256').describe(`
        Megabytes of Redis that each API key may use on a lane for its campaigns, outboxes, and messages, until they are
        removed: enough for 25 million recipients with a name and a city (10 bytes each), 200,000 campaigns with one
        recipient, or two million messages of outboxes. The default is a quarter of the memory that the Compose file
        gives to Redis. The schedules of a key, and its entries in the audit trail, have a limit of their own on each
        lane, of the same size.`),
    HTTP_TRUSTED_PROXIES: z.optional(into('http.trustedProxies', formats.networks)).describe(`
        Addresses or networks of the proxies in front of the HTTP API, separated by commas, such as 10.0.0.0/8. Their
        X-Forwarded-For names the client, whose invalid API keys are limited. If not set, the client is the one that
        connects.`),
    HTTP_MAX_UPLOAD_MB: z.prefault(into('http.maxUploadBytes', megabytes(1, 10_000)), '1000').describe(`
        Largest CSV or NDJSON upload. A million rows with a name take about 30 megabytes.`),
    HTTP_LIST_MEMORY_MB: z.prefault(into('http.listMemoryBytes', megabytes(64, 100_000)), '256').describe(`
        Memory for all lists that the process reads at the same time: 32 MB that the garbage collector has not freed yet,
        17 to 35 bytes per row of a CSV or NDJSON upload, and 30 times the length of JSON. Besides those 32 MB, one list may
        take three eighths of it, and those of one API key half. Further lists wait up to 30 seconds, and then get a 503
        response.`),
  },
  Monitoring: {
    METRICS_HOST: z.prefault(formats.host, '127.0.0.1').describe(`
        Address on which a worker serves metrics to Prometheus, without authentication.`),
    METRICS_ALLOWED_HOSTS: z.optional(formats.hostNames).describe(`
        Names under which Prometheus reaches the metrics of workers, separated by commas. Addresses, names without a dot,
        and METRICS_HOST are always allowed. Volley refuses others, because a web page could use them to read the metrics.`),
    METRICS_PORT: z.optional(formats.port).describe(`
        Port of a worker's metrics. If not set, the worker serves no metrics. Each worker on a machine needs its own
        port. The HTTP API serves metrics on its own port.`),
    LOG_LEVEL: z
      .prefault(into('logLevel', oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')), 'info')
      .describe(`
        Lowest level to log. "debug" logs every turn, and "trace" logs every request.`),
  },
};

/** The schema of the environment. */
export const SETTINGS = z.object({
  ...SECTIONS['The service'],
  ...SECTIONS.Campaigns,
  ...SECTIONS.Redis,
  ...SECTIONS['Sending and following up'],
  ...SECTIONS.Notifications,
  ...SECTIONS.Replies,
  ...SECTIONS.Webhooks,
  ...SECTIONS['Call records'],
  ...SECTIONS['HTTP API'],
  ...SECTIONS.Monitoring,
});

/** The value of each setting: durations in milliseconds, numbers as numbers, defaults filled in. */
export type Settings = z.output<typeof SETTINGS>;

/** What each setting may be in code: the text of its variable, or another form that its format allows. */
export type GivenSettings = z.input<typeof SETTINGS>;

/** The name of a setting, as in the environment. */
export type SettingName = keyof Settings;

/** The names of all settings. */
export const SETTING_NAMES: readonly SettingName[] = SETTINGS.keyof().options;

/** The secrets that can be read from a file, of every process or of all. */
export function secretsInFiles(of: 'every' | 'all'): SettingName[] {
  return SETTING_NAMES.filter((name) => {
    const neededBy = SETTINGS.shape[name].unwrap().meta()?.['inFile'];
    return neededBy !== undefined && (of === 'all' || neededBy === of);
  });
}

/** How much is logged. */
export type LogLevel = Settings['LOG_LEVEL'];

type MemberOf<Schema> = Schema extends { unwrap(): { readonly member: infer Member extends string } }
  ? Member
  : never;
/** The values by the names of their members. */
type ByMember = { [Name in SettingName as MemberOf<(typeof SETTINGS.shape)[Name]>]: Settings[Name] };

/** The members of one group, by what follows its dot. */
type Within<Values, Group extends string> = {
  [Member in keyof Values as Member extends `${Group}.${infer Rest}` ? Rest : never]: Values[Member];
};
/** Members in groups. */
type Grouped<Values> = {
  [Member in keyof Values as Member extends `${infer Group}.${string}`
    ? Group
    : Member]: Member extends `${infer Group}.${string}` ? Grouped<Within<Values, Group>> : Values[Member];
};

/** The members of the configuration that each have the value of one setting. */
export type ConfigMembers = Grouped<ByMember>;

/** Fills them, as the table of settings says. */
export function configMembers(settings: Settings): ConfigMembers {
  const members: Record<string, unknown> = {};
  for (const name of SETTING_NAMES) {
    const schema = SETTINGS.shape[name].unwrap();
    if ('member' in schema) fill(members, String(schema.member).split('.'), settings[name]);
  }
  return members as ConfigMembers;
}

function fill(group: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    group[name] = value;
    return;
  }
  const inner = (group[name] ?? {}) as Record<string, unknown>;
  group[name] = inner;
  fill(inner, rest, value);
}
