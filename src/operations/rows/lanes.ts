import { z } from 'zod';
import type { Volley } from '../../app/volley.js';
import { NoSuchLaneError } from '../../campaign/errors/errors.js';
import { laneLimits } from '../../campaign/limits/limits.js';
import { actor } from '../../campaign/states/actor.js';
import { ledger } from '../../campaign/views/live-views.js';
import { type LaneStatus, laneStatus } from '../../campaign/views/views.js';
import { allLanes, byLanesOfKey, byNamedLane } from '../access.js';
import { call } from '../operation.js';
import { Refused } from '../outcomes.js';
import { count, laneName, wholeNumber } from '../schemas/schemas.js';

const ofLane = z.strictObject({ name: laneName });
const laneState = z.object({ lane: z.string(), state: z.string() });

/** The command of an operation that takes no more than the name of a lane. */
const commandOf = (verb: string) => ({
  usage: `lane ${verb} <name>`,
  arguments: { name: 'the lane' },
  examples: [`lane ${verb} default`],
});

/** An operation that changes what a lane does. */
const COMMAND = {
  tag: 'Lanes',
  scope: 'operate',
  bucket: 'control',
  access: byNamedLane,
  input: ofLane,
  output: laneState,
  outcomes: ['notFound'],
} as const;

async function statusOf(volley: Volley, name: string): Promise<LaneStatus> {
  const lanes = await volley.lanes();
  const lane = lanes.find((each) => each.name === name);
  if (lane !== undefined) return lane;
  throw new NoSuchLaneError(
    name,
    lanes.map((each) => each.name),
    'configured',
  );
}

export const listLanes = call({
  name: 'listLanes',
  summary: 'List the lanes and their status',
  description:
    'The status says how much of the quota is used, when more requests may be sent, and why the lane sends nothing.',
  httpNote: 'The response has only the lanes that the key may use.',
  tag: 'Lanes',
  scope: 'status',
  cost: { tokens: 1 },
  access: byLanesOfKey,
  http: 'GET /lanes',
  cli: { usage: 'lanes', examples: ['lanes'] },
  input: z.strictObject({}),
  output: z.object({ lanes: z.array(laneStatus) }),
  returns: 'The lanes',
  async run(volley, _input, { lanes: allowed }) {
    const lanes = await volley.lanes();
    return { lanes: lanes.filter(({ name }) => allowed?.includes(name) ?? true) };
  },
});

export const getLane = call({
  name: 'getLane',
  summary: 'Get the status of a lane',
  tag: 'Lanes',
  scope: 'status',
  access: byNamedLane,
  http: 'GET /lanes/{name}',
  cli: { because: '`volley lanes` shows the status of every lane' },
  input: ofLane,
  output: laneStatus,
  returns: 'The current status',
  outcomes: ['notFound'],
  run: (volley, { name }) => statusOf(volley, name),
});

export const getLedger = call({
  name: 'getLedger',
  summary: 'Get the ledger of a lane',
  description:
    'Returns the requests within its quota window, bucket by bucket, as the limiter counts them, and when the quota has room for them again.',
  tag: 'Lanes',
  scope: 'status',
  cost: { tokens: 1 },
  access: byNamedLane,
  http: 'GET /lanes/{name}/ledger',
  cli: { because: '`volley lanes` shows when permits return' },
  input: ofLane,
  output: ledger,
  returns: 'The ledger as it is now',
  outcomes: ['notFound'],
  run: (volley, { name }) => volley.ledger(name),
});

export const holdLane = call({
  ...COMMAND,
  name: 'holdLane',
  summary: 'Hold a lane',
  description:
    'No request of the lane starts until you resume it. A lane that is backing off reopens by itself; one that is held or stopped does not.',
  httpNote: 'Its state becomes `held`.',
  audit: 'lane.hold',
  button: { asks: true },
  http: 'POST /lanes/{name}/hold',
  cli: {
    ...commandOf('hold'),
    flags: { reason: { value: 'text', about: 'why, for those who wonder whether to resume it' } },
  },
  input: ofLane.extend({
    reason: z.string().max(200).optional().describe('Why, for those who wonder whether to resume it'),
  }),
  returns: 'The lane is held',
  async run(volley, { name, reason }) {
    await volley.holdLane(name, reason);
    return { lane: name, state: 'held' };
  },
});

export const resumeLane = call({
  ...COMMAND,
  name: 'resumeLane',
  summary: 'Resume a lane that is held, stopped, or backing off',
  description: 'If an error stopped the lane, fix its cause first.',
  audit: 'lane.resume',
  button: { asks: true },
  http: 'POST /lanes/{name}/resume',
  cli: commandOf('resume'),
  returns: 'The lane and its new state',
  async run(volley, { name }) {
    await volley.resumeLane(name);
    const status = (await volley.lanes()).find((lane) => lane.name === name);
    // One that is not configured here has no status here.
    return { lane: name, state: status?.state ?? 'open' };
  },
});

export const renameLane = call({
  ...COMMAND,
  name: 'renameLane',
  summary: 'Rename a lane',
  description:
    'The quota and the campaigns of the lane stay with it. Running processes, such as the HTTP API, keep the old name until you restart them with the new one in their settings.',
  httpNote: 'Requires a key for all lanes.',
  access: allLanes('The names of lanes'),
  audit: 'lane.rename',
  http: 'POST /lanes/{name}/rename',
  cli: {
    usage: 'lane rename <name> <new-name>',
    arguments: { name: 'the lane', 'new-name': 'its new name' },
    examples: ['lane rename default marketing'],
  },
  input: ofLane.extend({ to: z.strictObject({ name: laneName.describe('The new name') }) }),
  body: 'to',
  output: z.object({ lane: z.string(), from: z.string(), id: z.string() }),
  returns: 'The lane has its new name',
  outcomes: ['notFound', 'badInput'],
  async run(volley, { name: from, to: { name: lane } }) {
    const { id } = await volley.renameLane(from, lane);
    return { lane, from, id };
  },
});

/** A setting of a lane that has its default without a value. */
const setting = <Schema extends z.ZodType>(schema: Schema, about: string) =>
  schema.nullable().optional().describe(about);
const secret = z.string().min(1);

/** The library checks the values, as it checks those of a lanes file. */
const settings = z.strictObject({
  profile: setting(z.enum(['v1', 'v3']), 'The version of the service; default `v1`'),
  apiKey: setting(secret, 'Its API key'),
  account: setting(
    z.strictObject({ username: secret, password: secret, targetAccountId: secret.optional() }),
    'Its account, instead of an API key or beside it',
  ),
  client: setting(
    z.strictObject({ id: secret, secret, product: secret }),
    'Its OAuth 2 client, with profile `v3`',
  ),
  authorization: setting(
    z.enum(['apiKey', 'accessToken']),
    'What the header `Authorization` carries, with a key and an account',
  ),
  xAuthorization: setting(
    z.enum(['none', 'accessToken']),
    'What the header `X-Authorization` carries, with a key and an account',
  ),
  hourlyQuota: setting(
    z.union([z.int(), z.literal('auto')]),
    'Requests per quota window; default `auto`: Volley learns it from the 429 responses of the service',
  ),
  pollShare: setting(
    z.number(),
    'The largest share of the quota that is reserved for requests for the delivery status (polls); default 0.2',
  ),
  pacing: setting(
    z.enum(['burst', 'smooth']),
    '`smooth` spreads the requests over the quota window; default `burst`',
  ),
  maxRecipientsPerRequest: setting(z.int(), 'Recipients per request; default 1'),
  unknownOutcome: setting(z.string(), '`hold`, `abandon after 24h`, or `resend after 24h`; default `hold`'),
  clientCorrelator: setting(z.string(), '`off`, `send`, or `deduplicates: 24h`; default `off`'),
  limits: setting(laneLimits, 'What everyone may send on it; default: anything'),
  zone: setting(z.string(), 'The time zone of the window, such as `Europe/Paris`'),
  window: setting(
    z.strictObject({
      hours: z.string().describe('Days and hours: `Mon-Sat 09:00-20:00`'),
      except: z.array(z.string()).optional().describe('Dates on which it is closed'),
    }),
    'When it may send; default: at any time',
  ),
});
const ofStored = settings.extend({ name: laneName });

const storedLane = z
  .object({
    name: z.string(),
    id: z.string().describe('The first name of the lane; its data is stored under it'),
    state: z
      .enum(['active', 'closing', 'leaving', 'disabled'])
      .describe(
        '`active`: workers serve it; `closing`: its removal counts what it would cancel, or was interrupted: repeat it; `leaving`: it is being removed, and waits for its last reports; `disabled`: a lane of the configuration has its name or its credentials',
      ),
    problem: z.string().nullable().describe('Why it is not served; null if it is'),
    settings: settings.partial().loose().describe('The settings that it was given, without credentials'),
    createdAt: z.string(),
    createdBy: actor,
  })
  .meta({ id: 'StoredLane' });

/** An operation on the lanes that are stored in Redis. */
const STORED = {
  tag: 'Lanes',
  scope: 'admin',
  bucket: 'control',
  access: allLanes('Lanes'),
  httpNote: 'Requires a key for all lanes.',
} as const;

const FILE = {
  arguments: {
    name: 'the lane',
    file: 'a JSON object with the fields of a lane in LANES_FILE, without `baseUrl`; `-`: standard input',
  },
} as const;

export const addLane = call({
  ...STORED,
  name: 'addLane',
  summary: 'Add a lane',
  description:
    'It is stored in Redis, beside the lanes of the configuration, and workers serve it within 5 seconds, without a restart. Its credentials are encrypted with SECRETS_KEY, and are sent only to the address in the configuration. With the credentials of a lane that was removed, it continues that lane and its quota.',
  audit: 'lane.add',
  http: 'POST /lanes',
  cli: { usage: 'lane add <name> <file>', ...FILE, examples: ['lane add acme acme.json'] },
  input: ofStored,
  output: storedLane,
  returns: 'The lane',
  outcomes: ['badInput', 'laneTaken'],
  creates: { at: ({ name }) => `/lanes/${encodeURIComponent(name)}/settings` },
  run: (volley, { name, ...given }) => volley.storedLanes.add(name, given),
});

export const setLane = call({
  ...STORED,
  name: 'setLane',
  summary: 'Change a lane that was added',
  description:
    'A setting that you leave out keeps its value; null resets it to its default. When the operation is done, requests in flight finish, and no new request uses the earlier settings or credentials. Lanes of the configuration cannot be changed.',
  audit: 'lane.set',
  http: 'PUT /lanes/{name}',
  cli: { usage: 'lane set <name> <file>', ...FILE, examples: ['lane set acme quota.json'] },
  input: ofStored,
  output: storedLane,
  returns: 'The lane',
  outcomes: ['badInput', 'notFound', 'laneTaken'],
  run: (volley, { name, ...changes }) => volley.storedLanes.set(name, changes),
});

export const getLaneSettings = call({
  ...STORED,
  name: 'getLaneSettings',
  summary: 'Show a lane that was added',
  http: 'GET /lanes/{name}/settings',
  cli: {
    usage: 'lane show <name>',
    arguments: { name: 'the lane' },
    examples: ['lane show acme'],
  },
  input: ofLane,
  output: storedLane,
  returns: 'The lane',
  outcomes: ['badInput', 'notFound'],
  run: (volley, { name }) => volley.storedLanes.get(name),
});

export const removeLane = call({
  ...STORED,
  name: 'removeLane',
  summary: 'Remove a lane that was added',
  description:
    'Everything that waits on it is cancelled for good, with its schedules. It takes 5 s: the lane is closed, counted again when every process knows, and reopened if more waits than you expect. Requests in flight finish, and reports still arrive. Then its credentials and its subscription are deleted, and its name is free. Its campaigns can be read until RETENTION is over.',
  audit: 'lane.remove',
  http: 'DELETE /lanes/{name}',
  cli: {
    usage: 'lane remove <name>',
    arguments: { name: 'the lane' },
    flags: {
      expect: {
        about: 'how many recipients this cancels; without it, or if it is another number, nothing is removed',
      },
    },
    examples: ['lane remove acme --expect 0'],
  },
  input: ofLane.extend({
    expect: wholeNumber(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'How many recipients this cancels. If it is another number, nothing changes, and the error has the right one in `recipientCount`',
      ),
  }),
  output: z.object({ name: z.string(), cancelled: count.describe('Recipients') }),
  returns: 'The lane is being removed',
  outcomes: ['badInput', 'notFound', 'laneTaken', 'unexpected'],
  async run(volley, { name, expect = -1 }) {
    const removal = await volley.storedLanes.remove(name, expect);
    if (removal.outcome === 'removed') return { name, cancelled: removal.cancelled };
    const { recipientCount } = removal;
    const message = `Removing lane ${name} cancels ${recipientCount} recipients: repeat it with this number.`;
    return new Refused('unexpected', message, { name, recipientCount }, { recipientCount });
  },
});
