import { z } from 'zod';
import { inputFields } from '../../campaign/fields/field-schemas.js';
import { optional, strict, withMethod } from '../../campaign/fields/input.js';
import { CAMPAIGN_STATES } from '../../campaign/states/campaign.js';
import type { CampaignChanges } from '../../intake/changes/set-campaign.js';
import type { CampaignInput, CsvStream } from '../../intake/import/campaign-input.js';
import type { RecipientInput } from '../../intake/import/read-objects.js';
import type { Volley } from '../volley.js';
import {
  type Argument,
  ID,
  type Inputs,
  limit,
  maybeCallback,
  maybeFlag,
  maybeSignal,
  maybeText,
  maybeTexts,
  maybeTime,
  members,
  options,
  text,
  texts,
} from './checked.js';

/** A stream of a CSV: it is read, not copied. */
export const csvStream = strict({ csv: withMethod<CsvStream['csv']>('pipe', 'must be a readable stream') });

/** Several objects. They are checked when they are read, and nothing is stored before. */
export const iterableOf = <List>(message: string): z.ZodType<List> =>
  z.custom<List>(
    (given) =>
      typeof given === 'object' &&
      given !== null &&
      (Symbol.iterator in given || Symbol.asyncIterator in given),
    message,
  );

const recipients = z.union(
  [text, csvStream, iterableOf<Iterable<RecipientInput> | AsyncIterable<RecipientInput>>('')],
  'must be the path of a CSV file, { csv } with a stream of one, or an iterable of objects with `to`',
);

const oneOrMore = (what: string) =>
  optional(z.union([text, texts], `must be a ${what}, or a list of ${what}s`));
const campaign: Argument<CampaignInput> = [
  '',
  members({
    ...inputFields('campaign'),
    message: maybeText,
    recipients: optional(recipients),
    findsCountries: maybeFlag,
    sentBefore: optional(z.enum(['count', 'leaveOut'])),
    comparedLanes: maybeTexts,
    isFirst: maybeFlag,
    problems: optional(z.int().min(0).max(1_000)),
    partial: maybeFlag,
    onWait: maybeCallback(),
    onInvalid: maybeCallback(),
    estimate: maybeFlag,
    confirm: maybeCallback(),
    onMemory: maybeCallback(),
    signal: maybeSignal,
  }),
];

/** Null gives a field its default. */
const changes: Argument<CampaignChanges> = [
  '',
  strict(
    inputFields('change', (schema) => schema.nullish()),
  ) as z.ZodType<unknown> as z.ZodType<CampaignChanges>,
];

const filters = {
  name: maybeText,
  tag: oneOrMore('tag'),
  state: optional(z.enum(CAMPAIGN_STATES)),
  lanes: maybeTexts,
  idempotencyKey: maybeText,
  createdFrom: maybeTime,
  createdBefore: maybeTime,
  limit,
};
const page = { ...filters, cursor: maybeText };
const report = { status: oneOrMore('state'), values: maybeFlag };

/** The methods of a Volley that are about campaigns and their recipients. */
export const CAMPAIGN_METHODS = {
  enqueue: [campaign],
  preview: [campaign],
  laneOf: [ID],
  pause: [ID],
  resume: [ID],
  cancel: [ID],
  resolve: [
    ID,
    [
      '',
      members({
        as: z.enum(['resend', 'abandon', 'accepted']),
        request: maybeText,
      }),
    ],
  ],
  set: [ID, changes, options({ revision: optional(z.int().min(0)), preview: maybeFlag })],
  delete: [ID],
  forget: [
    ['number', text],
    options({
      country: maybeText,
      lane: maybeText,
      keepSuppressed: maybeFlag,
      liftSuppression: maybeFlag,
    }),
  ],
  status: [ID],
  list: [options(filters)],
  page: [options(page)],
  count: [options(page)],
  progress: [ID],
  unknown: [ID, options({ limit, cursor: maybeText })],
  idsWith: [
    ['prefix', text],
    ['limit', z.int().min(1)],
  ],
  finished: [
    ID,
    options({
      signal: maybeSignal,
      onProgress: maybeCallback(),
    }),
  ],
  report: { rows: [ID, options(report)] },
  recipients: [ID, options({ ...report, cursor: maybeText, limit })],
  reportVersion: [ID],
  find: {
    rows: [['number', text], options({ country: maybeText, lanes: maybeTexts, signal: maybeSignal })],
  },
  results: [options({ cursor: maybeText, limit, lanes: maybeTexts })],
} satisfies Partial<Inputs<Volley>>;
