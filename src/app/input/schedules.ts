import { z } from 'zod';
import { inputFields } from '../../campaign/fields/field-schemas.js';
import { callback, optional, strict } from '../../campaign/fields/input.js';
import type { LaneFilter } from '../../campaign/views/page.js';
import type { RecipientInput } from '../../intake/import/read-objects.js';
import type { ScheduleInput } from '../../intake/schedules/input.js';
import { OVERLAPS } from '../../intake/schedules/schedule.js';
import type { Schedules } from '../../intake/schedules/schedules.js';
import type { TemplateChoice, Templates } from '../../intake/templates/templates.js';
import {
  type Argument,
  ID,
  type Inputs,
  limit,
  maybeDuration,
  maybeText,
  maybeTexts,
  members,
  NAME,
  options,
  text,
} from './checked.js';

/** Rows are stored as JSON, which has no big integers. */
const isRow = (row: unknown): boolean =>
  typeof row === 'object' && row !== null && !Object.values(row).some((value) => typeof value === 'bigint');
const recipients = z.union(
  [z.string(), z.array(z.custom<RecipientInput>(isRow)).readonly(), strict({ provided: text })],
  'must be the path of a CSV file, a list of objects with `to`, or { provided } with the name of a list',
);
const settings = members<ScheduleInput>({
  ...inputFields('schedule'),
  message: maybeText,
  id: text,
  cron: maybeText,
  zone: maybeText,
  overlap: optional(z.enum(OVERLAPS)),
  catchUp: maybeDuration,
  recipients: optional(recipients),
});
const choice: Argument<LaneFilter> = options({ lanes: maybeTexts });
const onLane: Argument<TemplateChoice> = options({ lane: maybeText });

/** The methods of all templates. */
export const TEMPLATE_METHODS: Inputs<Templates> = {
  put: [['', members({ name: text, lane: maybeText, ...inputFields('template') })]],
  list: [onLane],
  get: [NAME, onLane],
  delete: [NAME, onLane],
};

/** The methods of all schedules. */
export const SCHEDULE_METHODS: Inputs<Schedules> = {
  add: [['', settings]],
  put: [['', settings]],
  list: [options({ lanes: maybeTexts })],
  page: [options({ lanes: maybeTexts, limit, cursor: maybeText })],
  get: [ID, choice],
  next: [ID, ['count', z.int().min(1)], choice],
  run: [ID, choice],
  pause: [ID, choice],
  resume: [ID, choice],
  remove: [ID, choice],
  provide: { now: [NAME, ['list', callback()]] },
};
