import type { Command } from 'commander';
import type { CampaignStatus } from '../campaign/views.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { renderCampaign } from './progress.js';
import { counted, moment, oneLine } from './text.js';
import { sayIfNoWorkers, watchCampaign } from './watch.js';

/** The batches of whose outcome nobody knows that are shown to people; `--json` has up to 100. */
const UNKNOWN_SHOWN = 10;

/** Adds `volley status`. */
export function addStatus(program: Command, context: Context): void {
  program
    .command('status')
    .summary('show how a campaign stands')
    .description('Shows how a campaign stands. Exit code 3 with --watch: an operator must act.')
    .argument('<id>', 'the campaign')
    .option('-w, --watch', 'show progress until nothing of it is open')
    .option('--json', 'print one JSON object; with --watch at the end')
    .addHelpText('after', examples('status 1a2b3c4d5e6f7 --watch'))
    .action(action(context, (id: string, options: { watch?: boolean }) => status(context, id, options)));
}

function status(context: Context, id: string, { watch }: { watch?: boolean }): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const seen = await volley.status(id);
    if (seen.waitingFor !== null && seen.waitingFor !== 'workers') await sayIfNoWorkers(context, volley);
    if (!watch) return { json: seen, lines: picture(context, seen) };
    const { status: last, exit } = await watchCampaign(context, volley, id);
    return { json: last, lines: unknownLines(context, last), exit };
  });
}

function picture(context: Context, seen: CampaignStatus): string[] {
  const { clock, paint, stdout } = context;
  const look = { now: clock(), width: stdout.columns ?? 80, paint };
  return [...renderCampaign(seen, look), ...unknownLines(context, seen)];
}

function unknownLines({ clock }: Context, { unknownOutcomes }: CampaignStatus): string[] {
  if (unknownOutcomes.length === 0) return [];
  const lines = unknownOutcomes
    .slice(0, UNKNOWN_SHOWN)
    .map(
      ({ request, recipients, since, reason }) =>
        `  ${request}  ${counted(recipients, 'recipient')}, since ${moment(Date.parse(since), clock())}: ${oneLine(reason)}`,
    );
  const more = unknownOutcomes.length > UNKNOWN_SHOWN ? [`  … and more; --json has up to 100`] : [];
  return ['Requests with an unknown outcome:', ...lines, ...more];
}
