import type { Command } from 'commander';
import { CAMPAIGN_STATES, type CampaignState } from '../campaign/views.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { oneOf, wholeNumber } from './parsed.js';
import { settledOf } from './progress.js';
import { cut, grouped, moment, oneLine, table } from './text.js';

interface ListedOptions {
  state?: CampaignState;
  limit: number;
}

/** Adds `volley list`. */
export function addList(program: Command, context: Context): void {
  program
    .command('list')
    .summary('list campaigns, the newest first')
    .description('Lists campaigns, the newest first.')
    .option('--state <state>', `only those that are ${CAMPAIGN_STATES.join(', ')}`, oneOf(CAMPAIGN_STATES))
    .option('--limit <count>', 'at most so many', wholeNumber(1, 10_000), 20)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('list --state running'))
    .action(action(context, (options: ListedOptions) => list(context, options)));
}

function list(context: Context, { state, limit }: ListedOptions): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const campaigns = await volley.list({ limit, ...(state === undefined ? {} : { state }) });
    const now = context.clock();
    const rows = campaigns.map((campaign) => [
      campaign.id,
      cut(oneLine(campaign.name), 30),
      campaign.lane,
      campaign.state,
      grouped(campaign.recipients.total),
      grouped(settledOf(campaign)),
      moment(Date.parse(campaign.createdAt), now),
    ]);
    const heading = ['ID', 'NAME', 'LANE', 'STATE', 'RECIPIENTS', 'SETTLED', 'CREATED'];
    const none =
      state === undefined ? 'No campaigns yet: make one with `volley send`.' : `No campaign is ${state}.`;
    return { json: { campaigns }, lines: rows.length === 0 ? [none] : table(heading, rows) };
  });
}
