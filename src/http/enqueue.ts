import type { ApiKey } from '../campaign/views.js';
import type { CampaignInput, EnqueueOutcome } from '../import/campaign-input.js';
import type { Volley } from '../volley.js';
import { maySee } from './access.js';
import { laneOrNone } from './campaign-id.js';
import { Problem, type ProblemItem } from './problem.js';

/**
 * The idempotency key as it is kept. Keys that are limited to lanes have names of their own on each, because they belong
 * to parties that know nothing of each other, and both may well begin at `order-1`.
 */
export function ownIdempotencyKey(
  { lanes }: ApiKey,
  { lane }: Pick<CampaignInput, 'lane'>,
  given: string | undefined,
): string | undefined {
  return given === undefined || lanes === null ? given : `${lane}/${given}`;
}

type Refused = Exclude<EnqueueOutcome, { recipients: number }>;

/** Why there is no campaign. */
export async function refusalOf(
  volley: Volley,
  key: ApiKey,
  outcome: Refused,
  isUpload: boolean,
): Promise<Problem> {
  switch (outcome.kind) {
    case 'invalidRows':
      return badList(outcome, isUpload);
    case 'repeated':
      return new Problem(
        'repeated',
        'a campaign of the last 24 hours has the same list, text and sender; to send it once more, say `again`',
        await naming(volley, key, outcome.id),
      );
    case 'conflict':
      return new Problem(
        'conflict',
        'the idempotency key belongs to a campaign that has another list, text, sender, sender name, lane, time, validity or priority: send what it was made with, or another key',
        await naming(volley, key, outcome.id),
      );
    case 'declined':
      return new Problem('failed', 'nothing was sent');
    default:
      return outcome satisfies never;
  }
}

/** Names the campaign to whoever may see it. */
async function naming(volley: Volley, key: ApiKey, id: string) {
  const lane = await laneOrNone(volley, id);
  return lane !== null && maySee(key, lane) ? { more: { campaign: id } } : {};
}

function badList({ preview }: Extract<Refused, { kind: 'invalidRows' }>, isUpload: boolean): Problem {
  const { invalid, rows, problems } = preview;
  const errors = problems.map(({ line, column, reason }): ProblemItem => {
    // Of a CSV the line tells the place; an array has one to point at.
    const pointer = isUpload
      ? '/recipients'
      : `/recipients/${line - 1}${column === null ? '' : `/${column}`}`;
    return { pointer, message: reason, line, column };
  });
  const what =
    invalid === rows
      ? 'no row of the list can be sent to: mend them'
      : `${invalid} of ${rows} rows cannot be sent to, so nothing is: mend them, or leave them out with \`skipInvalid\``;
  return new Problem('invalidRows', what, { errors, more: { invalid, rows } });
}
