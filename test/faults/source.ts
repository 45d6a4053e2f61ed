import type { Volley } from '../../src/app/runtime.js';
import type { OutboxStatus } from '../../src/campaign/views/outbox-views.js';
import type { CampaignStatus } from '../../src/campaign/views/views.js';

/** What the id of a campaign in a history begins with if it stands for an outbox; the name of the outbox follows. */
export const OUTBOX = 'outbox:';

/** The status of a campaign or an outbox. */
export interface SourceStatus extends Pick<CampaignStatus, 'state' | 'endedAt' | 'waitingFor'> {
  readonly counts: Partial<CampaignStatus['counts'] & OutboxStatus['counts']>;
}

/** Reads the status of a campaign, or of an outbox, which never ends: if nothing in it is open, it waits like a campaign with unknown outcomes. */
export async function readStatus(volley: Volley, campaign: string): Promise<SourceStatus> {
  if (!campaign.startsWith(OUTBOX)) return volley.status(campaign);
  const { counts } = await volley.outbox(campaign.slice(OUTBOX.length)).status();
  const isOpen = counts.waiting + counts.sending + counts.deliveredToNetwork > 0;
  return { state: 'running', endedAt: null, waitingFor: isOpen ? null : 'resolve', counts };
}

/** A recipient of a campaign by its number, or a message of an outbox by its id. */
export interface SourceRow {
  readonly recipient: string;
  readonly status: string;
  readonly requestId: string | null;
}

/** The report of a campaign or an outbox. */
export async function* readReport(volley: Volley, campaign: string): AsyncGenerator<SourceRow> {
  if (campaign.startsWith(OUTBOX)) {
    for await (const { id, state, requestId } of volley.outbox(campaign.slice(OUTBOX.length)).report())
      yield { recipient: id, status: state, requestId };
  } else {
    for await (const { to, status, requestId } of volley.report(campaign))
      yield { recipient: String(to), status, requestId };
  }
}
