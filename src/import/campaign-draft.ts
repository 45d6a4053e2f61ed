import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { newCampaignId } from '../campaign/campaign-id.js';
import { InputError } from '../campaign/errors.js';
import { checkSender } from '../campaign/sender.js';
import { HALF_A_PAIR } from '../campaign/template.js';
import type { Clock, Random } from '../clock.js';
import type { LocalConfig } from '../config/index.js';
import type { CampaignMeta } from '../lane/campaigns.js';
import type { Lane } from '../lane/lane.js';
import { laneNamed } from '../lane/lane-finder.js';
import type { CampaignInput } from './campaign-input.js';
import type { ListPass } from './list-pass.js';

/** What {@link checked} and {@link draftOf} go by. */
export interface DraftDeps {
  readonly config: LocalConfig;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly clock: Clock;
  readonly random: Random;
}

/** On which lane a campaign goes out, and from whom. */
export interface Checked {
  readonly lane: Lane;
  readonly sender: Pick<ListPass, 'sender' | 'isText' | 'senderName'>;
}

/**
 * Checks everything that can be checked before the list is opened. Throws an InputError for what can be no campaign, and a
 * NotFoundError for a lane that there is not.
 */
export function checked(
  { config, lanes }: Pick<DraftDeps, 'config' | 'lanes'>,
  input: CampaignInput,
): Checked {
  const name = input.lane ?? config.lanes[0]?.name ?? '';
  const lane = laneNamed(lanes, name);
  const sender = input.sender ?? config.senderAddress;
  if (sender === undefined) {
    throw new InputError('a sender is needed: give one (--sender), or set SENDER_ADDRESS', {
      field: 'sender',
    });
  }
  const form = checkSender(sender);
  if (form.kind === 'invalid') throw new InputError(form.reason, { field: 'sender' });
  if (input.message.trim() === '') {
    throw new InputError('the message is empty: give the text that is to be sent', { field: 'message' });
  }
  for (const field of ['senderName', 'name'] as const) {
    if (HALF_A_PAIR.test(input[field] ?? ''))
      throw new InputError(`${field} holds half of a surrogate pair, which is no letter`, { field });
  }
  if (input.idempotencyKey === '')
    throw new InputError('the idempotency key is empty: leave it out, or give one');
  if (input.validForMs !== undefined && !(input.validForMs > 0)) {
    throw new InputError('the time for which a campaign is valid must be longer than nothing', {
      field: 'validFor',
    });
  }
  const senderName = input.senderName ?? config.senderName;
  return { lane, sender: { sender, isText: form.kind === 'text', senderName } };
}

/** What is known of the campaign before its list is read, with an id of its own. Throws what {@link checked} does. */
export function draftOf(deps: DraftDeps, input: CampaignInput): CampaignMeta {
  const { lane, sender } = checked(deps, input);
  const created = deps.clock();
  const { idempotencyKey } = input;
  return {
    id: newCampaignId(created, deps.random),
    name: input.name ?? defaultName(input, created),
    lane: lane.name,
    sender: sender.sender,
    senderName: sender.senderName,
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
