import { z } from 'zod';
import { type Actor, actor } from './actor.js';
import type { SomeLimits } from './limit-values.js';

/**
 * What the audit trail records. Each entry is an operation of an actor, except `key.refused` and `request.refused`, which count
 * requests. An export is the reading of a whole list.
 */
export const AUDIT_ACTIONS = [
  'campaign.create',
  'campaign.set',
  'campaign.pause',
  'campaign.resume',
  'campaign.cancel',
  'campaign.resolve',
  'campaign.delete',
  'campaign.export',
  'outbox.create',
  'outbox.set',
  'outbox.pause',
  'outbox.resume',
  'outbox.resolve',
  'outbox.close',
  'outbox.delete',
  'outbox.cancel',
  'outbox.import',
  'outbox.export',
  'lane.hold',
  'lane.resume',
  'lane.rename',
  'lane.add',
  'lane.set',
  'lane.remove',
  'schedule.add',
  'schedule.set',
  'schedule.pause',
  'schedule.resume',
  'schedule.run',
  'schedule.remove',
  'template.set',
  'template.delete',
  'suppression.add',
  'suppression.remove',
  'suppression.undo',
  'suppression.export',
  'number.forget',
  'key.create',
  'key.rotate',
  'key.set',
  'key.revoke',
  'console.link',
  'key.refused',
  'request.refused',
  'webhook.add',
  'webhook.set',
  'webhook.assign',
  'webhook.remove',
  'webhook.test',
  'webhook.rotate',
  'webhook.enable',
  'webhook.disable',
  'webhook.replay',
  'token.login',
  'token.refresh',
  'records.request',
  'records.resolve',
  'records.export',
  'subscription.create',
  'subscription.delete',
  'conformance.test',
] as const;
/** See {@link AUDIT_ACTIONS}. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** What only stops something, or gives it back. No limit of an API key keeps it from being done and recorded. */
export const STOPPING_ACTIONS: ReadonlySet<AuditAction> = new Set([
  'campaign.pause',
  'campaign.cancel',
  'outbox.pause',
  'outbox.close',
  'outbox.delete',
  'outbox.cancel',
  'lane.hold',
  'lane.remove',
  'schedule.pause',
  'schedule.remove',
  'template.delete',
  'key.revoke',
  'webhook.disable',
  'webhook.remove',
]);

const details = z.record(z.string(), z.union([z.string(), z.number()]));

/** One entry of the audit trail. It contains no phone number and no secret. */
export interface AuditEntry {
  /** Entries with a later time have a later id. */
  readonly id: string;
  readonly createdAt: string;
  /** Null for refused keys. */
  readonly actor: Actor | null;
  readonly action: AuditAction;
  /** Null if the operation belongs to no lane. */
  readonly lane: string | null;
  readonly campaign: string | null;
  /** More about the operation, such as `as` of a resolve; phone numbers are masked. */
  readonly details: Readonly<Record<string, string | number>>;
  /** Why the operation of an earlier entry failed; null in the entry that precedes the operation. */
  readonly failed: string | null;
}

/** See {@link AuditEntry}. */
export const auditEntry = z
  .object({
    id: z.string().describe('Entries with a later time have a later id'),
    createdAt: z.string().describe('ISO 8601, UTC'),
    actor: actor.nullable().describe('Null for refused keys'),
    action: z.enum(AUDIT_ACTIONS),
    lane: z
      .string()
      .nullable()
      .describe('The lane that the operation belongs to; null if it belongs to none'),
    campaign: z.string().nullable(),
    details: details
      .readonly()
      .describe(
        'More about the operation, such as `as` of a resolve, or the `address` and `count` of refused keys; phone numbers are masked',
      ),
    failed: z
      .string()
      .nullable()
      .describe(
        'Why the operation of an earlier entry failed; null in the entry that precedes the operation',
      ),
  })
  .readonly()
  .meta({ id: 'AuditEntry' });
/** An operation as its own code describes it. `lane`: the lane's id. */
export interface AuditedOperation {
  readonly action: AuditAction;
  readonly lane?: string | undefined;
  readonly campaign?: string | undefined;
  readonly details?: z.output<typeof details> | undefined;
}

/** An actor together with the record of what it does. Every operation takes one. */
export interface Operator {
  readonly actor: Actor;
  /** Whether the actor is limited to lanes, as a tenant is. Then it cannot undo what an actor for all lanes has done to protect the service. */
  readonly isLimited: boolean;
  /** What the actor may send; undefined: anything. */
  readonly limits?: SomeLimits | undefined;
  /**
   * Rejects if the actor may not act any more, such as a client whose API key was revoked. Every write asks again, because a list may
   * take an hour to arrive.
   */
  authorise(): Promise<void>;
  /**
   * Records an operation in the audit trail, and then runs it. If the actor may not act any more, or the operation cannot be recorded,
   * it does not run. If it fails, a second entry says so.
   */
  audited<Result>(operation: AuditedOperation, run: () => Promise<Result>): Promise<Result>;
}
