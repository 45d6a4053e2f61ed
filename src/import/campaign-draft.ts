import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { newCampaignId } from '../campaign/campaign-id.js';
import { InputError } from '../campaign/errors.js';
import { checkSender } from '../campaign/sender.js';
import { LONE_SURROGATE, LONE_SURROGATE_REASON } from '../campaign/template.js';
import type { Clock, Random } from '../clock.js';
import type { LocalConfig } from '../config/index.js';
import type { CampaignMeta } from '../lane/campaigns.js';
import type { Lane } from '../lane/lane.js';
import { laneNamed } from '../lane/lane-finder.js';
import type { CampaignInput } from './campaign-input.js';

/** What {@link resolveInput} and {@link draftOf} depend on. */
export interface DraftDeps {
  readonly config: LocalConfig;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly clock: Clock;
  readonly random: Random;
}

/** The sender of a campaign, with the defaults of the configuration applied. */
export interface Sender {
  readonly address: string;
  /** Whether the address is a name, not a number. */
  readonly isText: boolean;
  readonly name?: string | undefined;
}

/**
 * Finds the lane and the sender, and checks everything that does not need the list. Throws an InputError for invalid input,
 * and a NotFoundError for an unknown lane.
 */
export function resolveInput(
  { config, lanes }: Pick<DraftDeps, 'config' | 'lanes'>,
  input: CampaignInput,
): { readonly lane: Lane; readonly sender: Sender } {
  const lane = laneNamed(lanes, input.lane ?? config.lanes[0]?.name ?? '');
  const address = input.sender ?? config.senderAddress;
  if (address === undefined) {
    throw new InputError('there is no sender: pass one (--sender) or set SENDER_ADDRESS', {
      field: 'sender',
    });
  }
  const form = checkSender(address);
  if (form.kind === 'invalid') throw new InputError(form.reason, { field: 'sender' });
  if (input.message.trim() === '') {
    throw new InputError('the message is empty: write the text to send', { field: 'message' });
  }
  for (const field of ['senderName', 'name'] as const) {
    if (LONE_SURROGATE.test(input[field] ?? ''))
      throw new InputError(`${field} ${LONE_SURROGATE_REASON}`, { field });
  }
  if (input.idempotencyKey === '')
    throw new InputError('the idempotency key is empty: leave it out or set a value');
  if (input.validForMs !== undefined && !(input.validForMs > 0)) {
    throw new InputError('the validity of a campaign must be longer than 0', { field: 'validFor' });
  }
  const name = input.senderName ?? config.senderName;
  return { lane, sender: { address, isText: form.kind === 'text', name } };
}

/** The campaign before its list is read, with a new id. Throws as {@link resolveInput} does. */
export function draftOf(deps: DraftDeps, input: CampaignInput): CampaignMeta {
  const { lane, sender } = resolveInput(deps, input);
  const created = deps.clock();
  const { idempotencyKey } = input;
  return {
    id: newCampaignId(created, deps.random),
    name: input.name ?? defaultName(input, created),
    lane: lane.name,
    sender: sender.address,
    senderName: sender.name,
    text: input.message,
    columns: [],
    numberColumn: '',
    placeholders: [],
    priority: input.priority ?? 'normal',
    validForMs: input.validForMs === undefined ? undefined : Math.round(input.validForMs),
    created,
    at: input.at,
    idempotency:
      idempotencyKey === undefined
        ? undefined
        : createHash('sha256').update(idempotencyKey).digest('base64url'),
    duplicates: 0,
    invalid: 0,
    suppressed: 0,
    preview: null,
  };
}

function defaultName({ recipients }: CampaignInput, now: number): string {
  if (typeof recipients === 'string') return basename(recipients, extname(recipients));
  return `campaign of ${new Date(now).toISOString().slice(0, 16).replace('T', ' ')}`;
}
