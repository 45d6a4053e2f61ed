import { RECIPIENT_STATES, type RecipientState } from '../../../src/campaign/states/recipient.js';
import type { CampaignStatus } from '../../../src/campaign/views/views.js';

/** Noon in UTC, the zone of these campaigns, so that all times of a test fall on one day. */
export const NOON = Date.UTC(2026, 4, 2, 12);
export const isoAt = (ms: number): string => new Date(NOON + ms).toISOString();

type Changes = Partial<Omit<CampaignStatus, 'counts'>> & {
  counts?: Partial<Record<RecipientState, number>>;
};

/** A running campaign that nothing blocks, with changes; the total is the sum of the states. */
export function statusWith({ counts: given = {}, ...changes }: Changes = {}): CampaignStatus {
  const counts = Object.fromEntries(RECIPIENT_STATES.map((state) => [state, given[state] ?? 0])) as Record<
    RecipientState,
    number
  >;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return {
    id: 'c1',
    name: 'Spring sale',
    lane: 'main',
    sender: 'ACME',
    message: 'Hi {{name}}',
    revision: 0,
    earlier: [],
    state: 'running',
    createdAt: isoAt(-60_000),
    createdBy: null,
    idempotencyKey: null,
    tags: [],
    metadata: {},
    duplicates: 0,
    invalid: 0,
    sendAt: isoAt(-60_000),
    zone: 'UTC',
    window: null,
    zones: null,
    endedAt: null,
    rate: null,
    requests: { send: 0, poll: 0, throttled: 0 },
    quota: { used: 0, limit: 100, span: '1h', keptForPolls: 0, nextPermitAt: null, nextPermits: 0 },
    blockedBy: null,
    waitingFor: null,
    turnFailures: [],
    cost: null,
    eta: null,
    completion: null,
    contradictions: 0,
    unknownOutcomes: [],
    ...changes,
    counts: { total, ...counts },
  };
}
