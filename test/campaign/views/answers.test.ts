import { expect, test } from 'vitest';
import type { z } from 'zod';
import { type RecordsRequest, recordsRequest } from '../../../src/call-records/store/view.js';
import { type Actor, actor } from '../../../src/campaign/states/actor.js';
import { type AuditEntry, auditEntry } from '../../../src/campaign/states/audit.js';
import { type ForgottenNumber, forgotten } from '../../../src/campaign/states/forgotten.js';
import { type InboundMessage, inboundMessage } from '../../../src/campaign/states/inbound.js';
import { type SuppressionOperation, suppressionOperation } from '../../../src/campaign/states/suppression.js';
import { type Check, check } from '../../../src/campaign/views/check-views.js';
import * as lists from '../../../src/campaign/views/list-views.js';
import {
  type CampaignCost,
  campaignCost,
  type TimeRange,
  timeRange,
} from '../../../src/campaign/views/measures.js';
import * as outboxes from '../../../src/campaign/views/outbox-views.js';
import * as previews from '../../../src/campaign/views/preview-views.js';
import * as recipients from '../../../src/campaign/views/recipient-views.js';
import * as views from '../../../src/campaign/views/views.js';
import * as webhooks from '../../../src/campaign/views/webhook-views.js';
import {
  type Occurrence,
  occurrence,
  type Schedule,
  type ScheduleDetails,
  schedule,
  scheduleDetails,
} from '../../../src/intake/schedules/schedule.js';

/** Whether two types are the same. */
type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;

/**
 * The members of a type, and theirs: an interface may inherit some of them. Without `readonly`, because zod takes an object with `name` and
 * `message` for an error, which it does not make readonly.
 */
type Members<Type> = Type extends object ? { -readonly [Name in keyof Type]: Members<Type[Name]> } : Type;

/** Compiles only if what a schema makes has the members of the type. */
const fits =
  <Type>() =>
  <Schema extends z.ZodType>(
    schema: Same<Members<z.output<Schema>>, Members<Type>> extends true ? Schema : never,
  ) =>
    schema;

test('The type of each answer has the members of its schema, and no others', () => {
  const checked = [
    fits<Actor>()(actor),
    fits<AuditEntry>()(auditEntry),
    fits<ForgottenNumber>()(forgotten),
    fits<InboundMessage>()(inboundMessage),
    fits<SuppressionOperation>()(suppressionOperation),
    fits<Check>()(check),
    fits<CampaignCost>()(campaignCost),
    fits<TimeRange>()(timeRange),
    fits<views.RecipientCounts>()(views.recipientCounts),
    fits<views.UnknownRequest>()(views.unknownRequest),
    fits<views.SendWindow>()(views.sendWindow),
    fits<views.CampaignStatus>()(views.campaignStatus),
    fits<views.LaneStatus>()(views.laneStatus),
    fits<outboxes.OutboxStatus>()(outboxes.outboxStatus),
    fits<outboxes.OutboxChange>()(outboxes.outboxChange),
    fits<outboxes.OutboxMessageStatus>()(outboxes.outboxMessage),
    fits<outboxes.PutResult>()(outboxes.putResult),
    fits<outboxes.BulkResult>()(outboxes.bulkResult),
    fits<outboxes.CancelResult>()(outboxes.cancelResult),
    fits<lists.RepeatedRow>()(lists.repeatedRow),
    fits<lists.InvalidGroup>()(lists.invalidGroup),
    fits<previews.Refusal>()(previews.refusal),
    fits<previews.PlannedCost>()(previews.plannedCost),
    fits<previews.Sample>()(previews.sample),
    fits<lists.ListProblem>()(lists.listProblem),
    fits<previews.SentBefore>()(previews.sentBefore),
    fits<previews.Preview>()(previews.preview),
    fits<recipients.ReportRow>()(recipients.reportRow),
    fits<recipients.RecipientPage>()(recipients.recipientPage),
    fits<recipients.RecipientResult>()(recipients.recipientResult),
    fits<recipients.ResultPage>()(recipients.resultPage),
    fits<recipients.FoundRecipient>()(recipients.foundRecipient),
    fits<webhooks.Webhook>()(webhooks.webhook),
    fits<webhooks.WebhookWithSecret>()(webhooks.webhookWithSecret),
    fits<webhooks.FailedDelivery>()(webhooks.failedDelivery),
    fits<webhooks.WebhookTest>()(webhooks.webhookTest),
    fits<RecordsRequest>()(recordsRequest),
    fits<Occurrence>()(occurrence),
    fits<Schedule>()(schedule),
    fits<ScheduleDetails>()(scheduleDetails),
  ];
  expect(new Set(checked).size).toBe(checked.length);
  // @ts-expect-error: it lacks `latest`.
  fits<Schedule>()(scheduleDetails);
  // @ts-expect-error: it has a member too many.
  fits<Actor & { readonly age: number }>()(actor);
  // @ts-expect-error: `name` is never null.
  fits<Omit<Actor, 'name'> & { readonly name: string | null }>()(actor);
});
