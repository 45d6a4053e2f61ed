import { z } from 'zod';
import type { NoRecords } from '../../call-records/fetch.js';
import type { RecordsDownload } from '../../call-records/open-file.js';
import { RECORDS_STATES } from '../../call-records/store/states.js';
import { recordsRequest } from '../../call-records/store/view.js';
import { MAX_LANES } from '../../reporting/results-cursor.js';
import { byLane, byLanesOfKey, byRecordsRequest } from '../access.js';
import { call, file, type OpenFile } from '../operation.js';
import { Refused } from '../outcomes.js';
import { LANE_FLAG, laneName, several, wholeNumber } from '../schemas/schemas.js';

const ofRequest = z.strictObject({ id: z.string().min(1).max(40) });
const day = z.string().max(10, 'Use a day such as 2026-01-31');
const days = z
  .strictObject({
    lane: laneName.optional().describe('Default: the only lane'),
    from: day.describe('The first day, such as `2026-01-31`'),
    to: day.describe('The last day'),
    parameters: z
      .record(z.string().max(40), z.string().min(1).max(1_000))
      .describe('The parameters of the contract, as texts')
      .optional(),
    globalMobile: z
      .union([z.boolean(), z.array(z.string().min(1).max(40)).min(1).max(100)])
      .optional()
      .describe(
        'Which numbers are Global Mobile Numbers, whose records begin on 2023-02-01: all of the request (`true`), or these',
      ),
    key: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'Identifies the request: a repeat with the same key returns the existing request, unless that has ended without a file. Default: its content',
      ),
    again: z.boolean().optional().describe('Send a new request even if there is one with the same key'),
  })
  .meta({ id: 'Records' });
const resolution = z
  .discriminatedUnion('as', [
    z.strictObject({
      as: z.literal('accepted'),
      serviceId: z.string().min(1).max(512).describe('The id that the service gave the request'),
    }),
    z.strictObject({ as: z.literal('resend') }),
    z.strictObject({ as: z.literal('abandon') }),
  ])
  .describe(
    '`accepted`: the service has it, under this id. `resend`: the service does not have it; send it again',
  );

const ID = 'its id, the beginning of it, or last for the newest one';
const ARGUMENTS = { id: `the request: ${ID}` };

/** An operation that may ask the service. */
const ASKING = {
  tag: 'Call records',
  scope: 'send',
  outcomes: ['notFound', 'invalidState', 'unavailable', 'noToken'],
} as const;
const ON_REQUEST = { ...ASKING, access: byRecordsRequest, input: ofRequest } as const;
const CURRENT = { output: recordsRequest, returns: 'The request as it is now' } as const;
const DOWNLOAD = {
  returns: 'The file as the service sends it, with its content type',
  outcomes: [...ASKING.outcomes, 'noFile', 'unknownOutcome'],
} as const;
/** The command of a download. */
const FILE = {
  json: 'print one JSON object; requires --out',
  byHand: 'it shows its progress, and begins a download that breaks off again',
} as const;

/** The file; without one, why there is none. */
function fileOf(opened: RecordsDownload | NoRecords): OpenFile | Refused<object> {
  const { kind, request } = opened;
  if (kind === 'none') return new Refused(opened.code, opened.reason, { request });
  const { contentType, length, body } = opened;
  return { name: `records-${request.id}`, contentType, length, body, headers: { 'records-id': request.id } };
}

export const fetchRecords = file({
  ...ASKING,
  ...DOWNLOAD,
  name: 'fetchRecords',
  summary: 'Request call records, wait, and download them',
  httpNote:
    'The response begins when the file is ready, which may take hours. If the connection breaks, send the same body again: the request is not sent twice.',
  access: byLane,
  audit: 'records.request',
  http: 'POST /records/fetch',
  cli: {
    ...FILE,
    usage: 'records fetch [id]',
    arguments: {
      id: `an earlier request: ${ID}; without it, a request with these options is sent`,
    },
    note: 'Run the same command again to resume it: the request is not sent again. Exit code 3: an operator must act.',
    examples: [
      'records fetch --from 2026-01-01 --to 2026-01-31 --set product=IBN --set format=csv --out january.csv',
      'records fetch last --out january.csv',
    ],
  },
  input: days,
  run: async (volley, { again, ...wanted }, { signal }) =>
    fileOf(await volley.records.fetch(wanted, { signal, again })),
});

export const requestRecords = call({
  ...ASKING,
  ...CURRENT,
  name: 'requestRecords',
  summary: 'Request call records',
  description:
    'Sends the request at most once. If there is a request with the same key or content, it returns that one, unless it has ended without a file. If the outcome is unknown, its state is `unknown`.',
  access: byLane,
  audit: 'records.request',
  http: 'POST /records',
  cli: {
    usage: 'records request',
    note: 'Exit code 3: an operator must resolve it.',
    examples: ['records request --from 2026-01-01 --to 2026-01-31 --set product=IBN --set format=csv'],
  },
  input: days,
  run: (volley, { again, ...wanted }, { signal, wait }) =>
    volley.records.request(wanted, { signal, wait, again }),
});

export const getRecordsStatus = call({
  ...ON_REQUEST,
  ...CURRENT,
  name: 'getRecordsStatus',
  summary: 'Ask the service how far a request is',
  description: 'Asks at most once per interval of the contract.',
  http: 'POST /records/{id}/status',
  cli: {
    usage: 'records status <id>',
    arguments: ARGUMENTS,
    note: 'Exit code 3: an operator must act.',
    examples: ['records status last'],
  },
  run: (volley, { id }, { signal, wait }) => volley.records.status(id, { signal, wait }),
});

export const downloadRecords = file({
  ...ON_REQUEST,
  ...DOWNLOAD,
  name: 'downloadRecords',
  summary: 'Download the file of a request that is ready',
  audit: 'records.export',
  http: 'GET /records/{id}/download',
  cli: {
    ...FILE,
    usage: 'records download <id>',
    arguments: ARGUMENTS,
    examples: ['records download last --out january.csv'],
  },
  run: async (volley, { id }, { signal, wait }) =>
    fileOf(await volley.records.download(id, { signal, wait })),
});

export const fetchRequestedRecords = file({
  ...ON_REQUEST,
  ...DOWNLOAD,
  name: 'fetchRequestedRecords',
  summary: 'Wait for the file of a request, and download it',
  description: 'The response begins when the file is ready, which may take hours.',
  audit: 'records.export',
  http: 'POST /records/{id}/fetch',
  cli: { because: '`volley records fetch` runs it' },
  run: async (volley, { id }, { signal }) => fileOf(await volley.records.fetch({ id }, { signal })),
});

export const listRecords = call({
  name: 'listRecords',
  summary: 'List the requests for call records',
  description: 'Newest first, of the lanes that the key may use. Volley does not ask the service.',
  tag: 'Call records',
  scope: 'read',
  cost: { itemsPerToken: 50 },
  access: byLanesOfKey,
  http: 'GET /records',
  cli: {
    usage: 'records list',
    description: 'Newest first. Volley does not ask the service.',
    flags: {
      state: { value: 'state', about: `only requests that are ${RECORDS_STATES.join(', ')}` },
      lane: { ...LANE_FLAG, about: 'only requests of this lane; repeat it for several' },
      limit: { value: 'count', about: 'the most to show' },
    },
    examples: ['records list --state unknown'],
  },
  input: z.strictObject({
    lane: several(laneName, MAX_LANES)
      .optional()
      .describe('Only requests of this lane. Repeat it for several'),
    state: z.enum(RECORDS_STATES).optional().describe('Only requests in this state'),
    limit: wholeNumber(1, 1_000).default(100),
  }),
  output: z.object({ requests: z.array(recordsRequest) }),
  returns: 'The requests',
  run: async (volley, { state, limit }, { lanes }) => ({
    requests: await volley.records.list({ lanes, state, limit }),
  }),
});

export const getRecords = call({
  name: 'getRecords',
  summary: 'Get a request for call records',
  description: 'As Volley knows it, without asking the service.',
  tag: 'Call records',
  scope: 'read',
  access: byRecordsRequest,
  http: 'GET /records/{id}',
  cli: { because: '`volley records list` shows what Volley knows of every request' },
  input: ofRequest,
  output: recordsRequest,
  returns: 'The request',
  outcomes: ['notFound'],
  run: async (_volley, _input, { found }) => found,
});

export const resolveRecords = call({
  ...ON_REQUEST,
  ...CURRENT,
  name: 'resolveRecords',
  summary: 'Resolve a request with an unknown outcome',
  description: 'Look the request up at the service first.',
  scope: 'operate',
  audit: 'records.resolve',
  http: 'POST /records/{id}/resolve',
  cli: {
    usage: 'records resolve <id>',
    arguments: ARGUMENTS,
    examples: ['records resolve last --accepted 4711', 'records resolve last --resend'],
  },
  input: ofRequest.extend({ resolution }),
  body: 'resolution',
  run: (volley, { id, resolution }, { signal, wait }) =>
    volley.records.resolve(id, resolution, { signal, wait }),
});
