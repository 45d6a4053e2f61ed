import { z } from 'zod';
import { InputError } from '../../campaign/errors/errors.js';
import { CAMPAIGN_STATES } from '../../campaign/states/campaign.js';
import { STATUS_FORM } from '../../campaign/states/reported-status.js';
import { isZone } from '../../campaign/time/zone.js';
import { campaignChange } from '../../campaign/views/change-views.js';
import { progressSample } from '../../campaign/views/live-views.js';
import type { TimeRange } from '../../campaign/views/measures.js';
import { recipientPage, reportRow } from '../../campaign/views/recipient-views.js';
import { type CampaignStatus, campaignStatus, unknownRequest } from '../../campaign/views/views.js';
import { excelReport } from '../../reporting/excel-report.js';
import { formatReport } from '../../reporting/report-file.js';
import { byCampaign, byLanesOfKey, requireRead } from '../access.js';
import { call, page, rows } from '../operation.js';
import { changeMembers } from '../schemas/campaign-members.js';
import { filterFlags, filterMembers, reportedStatuses } from '../schemas/list-filters.js';
import { count, dateOf, LANE_FLAG, moment, onlyOfLane, wholeNumber, yesOrNo } from '../schemas/schemas.js';

const id = z.string().min(1).max(40);
const ofCampaign = z.strictObject({ id });
const CAMPAIGN = { id: 'the campaign: its id, the beginning of it, its name, or last for the newest one' };

/** A command that stops or starts a campaign. */
const COMMAND = {
  tag: 'Campaigns',
  scope: 'operate',
  bucket: 'control',
  access: byCampaign,
  input: ofCampaign,
  outcomes: ['notFound', 'invalidState'],
} as const;

const withValues = yesOrNo
  .default(false)
  .describe('Whether rows have the `values` of the columns that the text uses');

export const listCampaigns = page({
  name: 'listCampaigns',
  summary: 'List campaigns, newest first',
  tag: 'Campaigns',
  scope: 'status',
  cost: { itemsPerToken: 5 },
  access: byLanesOfKey,
  http: 'GET /campaigns',
  cli: {
    usage: 'list',
    flags: {
      state: { value: 'state', about: `only campaigns that are ${CAMPAIGN_STATES.join(', ')}` },
      lane: LANE_FLAG,
      ...filterFlags,
      idempotencyKey: { value: 'key', about: 'only the campaign that was created with this key' },
      createdFrom: {
        value: 'time',
        about: 'only campaigns created at or after this day or time',
        as: 'dayOrMoment',
      },
      createdBefore: {
        value: 'time',
        about: 'only campaigns created before this day or time',
        as: 'dayOrMoment',
      },
    },
    examples: ['list --state running', 'list --name spring --created-from {today}'],
  },
  input: z.strictObject({
    state: z.enum(CAMPAIGN_STATES).optional(),
    lane: onlyOfLane('campaigns'),
    ...filterMembers,
    idempotencyKey: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe('Only campaigns with this `Idempotency-Key`'),
    createdFrom: moment.optional().describe('Created at or after this time, in ISO 8601 with a time zone'),
    createdBefore: moment.optional().describe('Created before this time, in ISO 8601 with a time zone'),
  }),
  member: 'campaigns',
  item: campaignStatus,
  returns: 'A page of campaigns, newest first',
  position: 'campaigns',
  limit: { max: 200, usual: 50 },
  shown: { max: 10_000, usual: 20 },
  async run(volley, { lane: _lane, ...input }, { lanes, key }) {
    const masked = (['name', 'idempotencyKey'] as const).find((filter) => input[filter] !== undefined);
    // Other keys see these masked, and could find out what is masked by trying.
    if (masked !== undefined && key !== undefined) requireRead(key, `The filter \`${masked}\` finds numbers`);
    const [createdFrom, createdBefore] = [dateOf(input.createdFrom), dateOf(input.createdBefore)];
    const { campaigns, nextCursor } = await volley.page({ ...input, createdFrom, createdBefore, lanes });
    return { items: campaigns, nextCursor };
  },
});

export const getCampaign = call({
  name: 'getCampaign',
  summary: 'Get the status of a campaign',
  tag: 'Campaigns',
  scope: 'status',
  access: byCampaign,
  http: 'GET /campaigns/{id}',
  cli: {
    usage: 'status [id]',
    arguments: { id: `${CAMPAIGN.id} (default: last)` },
    note: 'Exit code 3 with --watch: an operator must act.',
    json: 'print one JSON object; with --watch, at the end',
    examples: ['status', 'status last --watch'],
    byHand: '--watch follows the campaign to its end',
  },
  input: ofCampaign,
  output: campaignStatus,
  returns: 'The current status',
  outcomes: ['notFound'],
  version: versionOf,
  run: (volley, campaign) => volley.status(campaign.id),
});

export const getProgress = call({
  name: 'getProgress',
  summary: 'Get how a campaign has gone',
  description:
    'Returns its counts over time, in at most 128 samples that Volley records while the campaign runs and its counts change, and then its current counts. A campaign of one recipient has only the current counts.',
  tag: 'Campaigns',
  scope: 'status',
  cost: { tokens: 1 },
  access: byCampaign,
  http: 'GET /campaigns/{id}/progress',
  cli: { because: '`volley status --watch` shows the progress' },
  input: ofCampaign,
  output: z.object({ samples: z.array(progressSample) }),
  returns: 'The samples, the oldest first',
  outcomes: ['notFound'],
  run: async (volley, campaign) => ({ samples: await volley.progress(campaign.id) }),
});

export const listUnknown = page({
  name: 'listUnknown',
  summary: 'List the requests of a campaign with an unknown outcome',
  description:
    'Returns the requests that the service may or may not have accepted, with what is known about each. Use `resolve` to settle them.',
  tag: 'Campaigns',
  scope: 'status',
  cost: { itemsPerToken: 100 },
  access: byCampaign,
  http: 'GET /campaigns/{id}/unknown',
  cli: { because: '`volley status` lists them' },
  input: ofCampaign,
  member: 'requests',
  item: unknownRequest,
  returns: 'A page of requests, in the order in which they were claimed',
  position: 'unknown',
  limit: { max: 1_000, usual: 100 },
  outcomes: ['notFound'],
  async run(volley, { id: campaign, ...range }) {
    const { requests, nextCursor } = await volley.unknown(campaign, range);
    return { items: requests, nextCursor };
  },
});

export const pauseCampaign = call({
  ...COMMAND,
  name: 'pauseCampaign',
  summary: 'Pause a campaign',
  description:
    'Volley starts no more requests of it, and finishes those in flight. Polling for delivery reports continues.',
  audit: 'campaign.pause',
  http: 'POST /campaigns/{id}/pause',
  cli: { usage: 'pause <id>', arguments: CAMPAIGN, examples: ['pause last'] },
  output: z.object({
    id: z.string(),
    state: z.literal('paused'),
    inFlight: count.describe('Requests still in flight'),
  }),
  returns: 'The campaign is paused',
  async run(volley, { id }) {
    const { inFlight } = await volley.pause(id);
    return { id, state: 'paused' as const, inFlight };
  },
});

export const resumeCampaign = call({
  ...COMMAND,
  name: 'resumeCampaign',
  summary: 'Resume a paused campaign',
  audit: 'campaign.resume',
  http: 'POST /campaigns/{id}/resume',
  cli: { usage: 'resume <id>', arguments: CAMPAIGN, examples: ['resume last'] },
  output: z.object({ id: z.string(), state: z.string() }),
  returns: 'The campaign and its new state',
  async run(volley, { id }) {
    await volley.resume(id);
    const { state } = await volley.status(id);
    return { id, state };
  },
});

export const cancelCampaign = call({
  ...COMMAND,
  name: 'cancelCampaign',
  summary: 'Cancel a campaign for good',
  description:
    'Nothing more of it is sent. Delivery reports for sent messages still arrive. A campaign of which everything has been sent cannot be cancelled.',
  audit: 'campaign.cancel',
  button: { label: 'Stop the campaign', tone: 'danger' },
  http: 'POST /campaigns/{id}/cancel',
  cli: { usage: 'cancel <id>', arguments: CAMPAIGN, asks: true, examples: ['cancel last'] },
  output: z.object({
    id: z.string(),
    state: z.literal('cancelled'),
    cancelled: count.describe('Recipients that receive no message'),
    inFlight: count.describe('Requests still in flight'),
  }),
  returns: 'The campaign is cancelled',
  async run(volley, { id }) {
    const { cancelled, inFlight } = await volley.cancel(id);
    return { id, state: 'cancelled' as const, cancelled, inFlight };
  },
});

export const setCampaign = call({
  tag: 'Campaigns',
  access: byCampaign,
  name: 'setCampaign',
  summary: 'Change a campaign',
  description:
    'The change applies to the recipients that were never claimed. When it is done, no request starts as the campaign was before, unless it repeats one that may have been accepted: that keeps its text. `sendAt` can change only while nothing was claimed. The text may use the columns that the first one used.',
  httpNote:
    'A field that you leave out keeps its value. Null resets a field to its default; for `sendAt`, that is now. The response may take two seconds. If you repeat a creation with its `Idempotency-Key`, Volley compares it with the campaign as it was created.',
  scope: 'send',
  audit: 'campaign.set',
  http: 'PATCH /campaigns/{id}',
  cli: {
    usage: 'set <id>',
    arguments: CAMPAIGN,
    description:
      'The change applies to the recipients that no worker has claimed. When it is done, no request starts as the campaign was before, unless it repeats one that may have been accepted: that keeps its text. You can change --at only while nothing was claimed. The text may use the columns that the first one used.',
    flags: {
      revision: {
        value: 'number',
        about: 'only if the campaign still has this revision, as `volley status` shows it',
      },
      preview: { about: 'only check the change, and show what it does' },
    },
    examples: [
      "set last --message 'The market opens at eleven'",
      'set last --window "Mon-Fri 09:00-18:00" --zone Europe/Paris --preview',
    ],
  },
  input: ofCampaign.extend({
    ...changeMembers,
    revision: count
      .optional()
      .describe('Refuse the change (409) unless the campaign still has this revision'),
    preview: z.boolean().optional().describe('Only check the change, and return what it would do'),
  }),
  output: campaignChange,
  returns: 'What has changed',
  outcomes: ['notFound', 'invalidState', 'unexpected', 'overLimit', 'noPrice', 'overBudget', 'keyFull'],
  run: (volley, { id, revision, preview, ...changes }) => volley.set(id, changes, { revision, preview }),
});

export const deleteCampaign = call({
  ...COMMAND,
  name: 'deleteCampaign',
  summary: 'Delete a campaign that has ended',
  description: 'All of its data is removed, before its retention period is over.',
  audit: 'campaign.delete',
  http: 'DELETE /campaigns/{id}',
  cli: { usage: 'delete <id>', arguments: CAMPAIGN, asks: true, examples: ['delete last'] },
  output: z.object({ id: z.string(), recipientCount: count }),
  returns: 'The campaign is deleted',
  run: async (volley, { id }) => ({ id, ...(await volley.delete(id)) }),
});

const CSV = 'text/csv; charset=utf-8; header=present';

export const getReport = rows({
  name: 'getReport',
  summary: 'Get the report of a campaign',
  description:
    'It has one line for each recipient, in the order of the list. Recipients suppressed during the import follow, and then the rows that were left out (the first 100,000 of each kind): with the status `duplicate` those with the number of an earlier row, and with the status `invalid` those that are invalid. In CSV, a reason, id, or reference that a spreadsheet could read as a formula is preceded by an apostrophe.',
  httpNote: 'An incomplete response ends without its last chunk, which HTTP clients report as an error.',
  tag: 'Campaigns',
  scope: 'read',
  access: byCampaign,
  audit: 'campaign.export',
  http: 'GET /campaigns/{id}/report',
  cli: {
    usage: 'report <id>',
    arguments: CAMPAIGN,
    flags: {
      format: { about: 'the format (default: csv)' },
      status: {
        value: 'states',
        about: `only recipients with these states: one or more of ${STATUS_FORM}`,
        as: 'reportedStatuses',
      },
    },
    examples: [
      'report last --excel --list examples/spring-sale.csv --country GB --out report.csv',
      'report last --status failed --out failed.csv',
    ],
  },
  input: ofCampaign.extend({
    format: z
      .enum(['csv', 'ndjson', 'excel'])
      .default('csv')
      .describe(
        'CSV with a header line, one JSON object per line, or a CSV file that Excel opens with a double click: it has the columns that the text uses, and can be sent as a list again',
      ),
    separator: z
      .enum(['comma', 'semicolon', 'tab'])
      .optional()
      .describe(
        'For `excel`: what separates its cells, which depends on the country of the Excel. Default: `comma`',
      ),
    zone: z
      .string()
      .max(100)
      .refine(isZone, 'Use an IANA time zone, such as `Europe/Paris`')
      .optional()
      .describe('For `excel`: the IANA time zone of its times, if the campaign has none. Default: `UTC`'),
    status: reportedStatuses,
    values: withValues,
  }),
  item: reportRow,
  returns: 'The report. As NDJSON, the schema is that of each line.',
  formats: { csv: CSV, ndjson: 'application/x-ndjson', excel: CSV },
  outcomes: ['notFound'],
  run(volley, { id, status, values, format, ...ofExcel }) {
    const [name] = Object.entries(ofExcel).flatMap(([each, value]) => (value === undefined ? [] : each));
    if (format !== 'excel' && name !== undefined)
      throw new InputError(`\`${name}\` needs \`format\` to be \`excel\``, { field: name });
    return volley.report(id, { status, values: values || format === 'excel' });
  },
  async *text(report, { id, format, separator = 'comma', zone = 'UTC' }, volley) {
    if (format !== 'excel') return yield* formatReport(report, format);
    const { zone: own } = await volley.status(id);
    yield* excelReport(report, { separator, zone: own ?? zone });
  },
  version: async (volley, { id, ...options }) => [await volley.reportVersion(id), options],
  async file(volley, { id, format }) {
    const { name } = await volley.status(id);
    return `${name}.${format === 'ndjson' ? format : 'csv'}`;
  },
});

export const listRecipients = call({
  name: 'listRecipients',
  summary: 'List the recipients of a campaign',
  description:
    'A page of the report: the recipients in the order of the list, then those suppressed during the import, then the rows that were left out. A page may be short before the last one: continue until `nextCursor` is null.',
  tag: 'Campaigns',
  scope: 'read',
  cost: { itemsPerToken: 250 },
  access: byCampaign,
  http: 'GET /campaigns/{id}/recipients',
  cli: { because: '`volley report` shows all recipients; a person needs no pages' },
  input: ofCampaign.extend({
    cursor: z
      .string()
      .regex(/^\d{1,10}$/, 'Use the `nextCursor` of the previous page')
      .optional()
      .describe('The `nextCursor` of the previous page'),
    limit: wholeNumber(1, 10_000).default(100).describe('The page size'),
    status: reportedStatuses,
    values: withValues,
  }),
  output: recipientPage,
  isLong: true,
  returns: 'A page of recipients',
  outcomes: ['notFound'],
  run: (volley, { id, cursor, limit, status, values }) =>
    volley.recipients(id, { cursor, limit, status, values }),
});

export const resolveCampaign = call({
  ...COMMAND,
  name: 'resolveCampaign',
  summary: 'Resolve requests with an unknown outcome',
  description: 'They may or may not have been accepted.',
  httpNote:
    '`resend` sends the messages again, at the risk that recipients receive them twice; `abandon` gives them up; `accepted` counts them as sent, without a delivery report (`unconfirmed`). Without `request`, all of the campaign are resolved.',
  audit: 'campaign.resolve',
  http: 'POST /campaigns/{id}/resolve',
  cli: {
    usage: 'resolve <id>',
    arguments: CAMPAIGN,
    flags: {
      request: {
        value: 'reference',
        about: 'only this request, as `volley status` names it (default: all)',
      },
    },
    note: 'On a terminal, without an option, it shows what is known about each and asks. Exit code 3: some are not resolved.',
    examples: ['resolve last', 'resolve last --abandon', 'resolve last --resend'],
    byHand: 'without an option, it asks about one request after the other',
  },
  input: ofCampaign.extend({
    as: z.enum(['resend', 'abandon', 'accepted']),
    request: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe('Only this request, by the reference that the status of the campaign shows'),
  }),
  output: z.object({
    requests: count,
    recipientCount: count,
    tooEarly: z
      .object({ requests: count, until: z.string() })
      .readonly()
      .nullable()
      .describe(
        'Requests that were not resolved because a worker may still be sending them, and when that can no longer be',
      ),
  }),
  returns: 'The requests and recipients that were resolved',
  run: (volley, { id, ...resolution }) => volley.resolve(id, resolution),
});

/**
 * The content of a status for its version, without what changes with the clock alone: the rate, and the earliest times of the estimates.
 * The latest times count to the minute.
 */
function versionOf({ rate: _rate, eta, completion, ...status }: CampaignStatus): string {
  const bound = (range: TimeRange | null) =>
    range && { ...range, earliest: null, latest: range.latest?.slice(0, 'yyyy-mm-ddThh:mm'.length) };
  return JSON.stringify({ ...status, eta: bound(eta), completion: bound(completion) });
}
