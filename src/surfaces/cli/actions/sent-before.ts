import { asSentence, InputError } from '../../../campaign/errors/errors.js';
import type { Preview, SentBefore } from '../../../campaign/views/preview-views.js';
import type { CampaignInput } from '../../../intake/import/campaign-input.js';
import { CliError } from '../context/errors.js';
import { counted, grouped, oneLine } from '../output/text.js';

/*
 * What people read about recipients who get the text of a list from an earlier campaign already (intake/import/sent-before.ts).
 */

/** Whether earlier campaigns are only compared, or decide who gets the message. */
export function sentBeforeOf({ onlyNew }: { readonly onlyNew?: boolean }): CampaignInput['sentBefore'] {
  return onlyNew === true ? 'leaveOut' : 'count';
}

/** The warnings of a preview; first that about recipients who already get the text. */
export function withTextWarnings(seen: Preview): Pick<Preview, 'warnings'> {
  return { warnings: [...sentBeforeWarnings(seen), ...seen.warnings] };
}

function sentBeforeWarnings({ sentBefore, recipientCount }: Preview): string[] {
  if (sentBefore === null || sentBefore.isLeftOut) return [];
  if (sentBefore.unchecked !== null)
    return [`Volley did not check who gets this text already: ${sentBefore.unchecked}.`];
  const { recipientCount: twice } = sentBefore;
  if (twice === 0) return [];
  const who = `${grouped(twice)} of ${counted(recipientCount, 'recipient')} already ${twice === 1 ? 'gets' : 'get'} this text from ${campaignsText(sentBefore)}.`;
  const corrected = sentBefore.campaigns.some(({ invalid }) => invalid > 0)
    ? ' If you have corrected its invalid rows, you can also send only their file, which ends in .invalid.csv.'
    : '';
  return [`${who} To leave ${twice === 1 ? 'it' : 'them'} out, add --only-new.${corrected}`];
}

/** ` (5 already get this text)`, for the question; empty if none of them does. */
export function getsTwice({ sentBefore }: Preview): string {
  if (sentBefore === null || sentBefore.isLeftOut || sentBefore.recipientCount === 0) return '';
  const { recipientCount } = sentBefore;
  return ` (${grouped(recipientCount)} already ${recipientCount === 1 ? 'gets' : 'get'} this text)`;
}

/** `5 who already get this text from campaign mwrwtvlrlfo07 (spring)`: those who are left out; null if there are none. */
export function leftOutBefore(sentBefore: SentBefore | null): string | null {
  if (!sentBefore?.isLeftOut || sentBefore.recipientCount === 0) return null;
  const { recipientCount } = sentBefore;
  return `${grouped(recipientCount)} who already ${recipientCount === 1 ? 'gets' : 'get'} this text from ${campaignsText(sentBefore)}`;
}

/** The first of these recipients, one per line, and how many more there are. */
export function renderSentBefore({ rows, recipientCount }: SentBefore): string[] {
  const lines = rows.map(
    ({ line, to, campaign }) => `  line ${line}: ${to} gets this text from campaign ${campaign}`,
  );
  return recipientCount > lines.length
    ? [...lines, `  … and ${grouped(recipientCount - lines.length)} more`]
    : lines;
}

/** An error of the library as the command reports it: `--only-new` is refused if earlier campaigns cannot be compared. */
export function withOnlyNewAdvice(error: unknown): unknown {
  if (!(error instanceof InputError) || error.field !== 'sentBefore') return error;
  return new CliError(
    'notCompared',
    `${asSentence(error.message)} Nothing was sent. Leave out --only-new to send to the whole list, or send a list of the new numbers.`,
    { errors: error.errors },
  );
}

/** `campaign mwrwtvlrlfo07 (spring)`, or the newest of several. */
function campaignsText({ campaigns }: SentBefore): string {
  const [newest] = campaigns;
  if (newest === undefined) return 'no campaign';
  const name = `${newest.id} (${oneLine(newest.name)})`;
  return campaigns.length === 1
    ? `campaign ${name}`
    : `${campaigns.length} campaigns, the newest of them ${name}`;
}
