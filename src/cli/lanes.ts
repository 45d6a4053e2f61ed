import type { Command } from 'commander';
import type { LaneStatus } from '../campaign/views.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import type { Paint } from './paint.js';
import { bar, usedWords } from './progress.js';
import { counted, grouped, oneLine, padded, until } from './text.js';

const BAR_WIDTH = 24;
const STEPS_SHOWN = 4;

/** Adds `volley lanes`. */
export function addLanes(program: Command, context: Context): void {
  program
    .command('lanes')
    .summary('show quotas, permits and pauses')
    .description('Shows each lane: its quota, what it has used, the permits to come, and why it is paused.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('lanes'))
    .action(action(context, () => lanes(context)));
}

function lanes(context: Context): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const seen = await volley.lanes();
    const now = context.clock();
    return { json: { lanes: seen }, lines: seen.flatMap((lane) => renderLane(lane, now, context.paint)) };
  });
}

const INK = { open: 'green', paused: 'yellow', probing: 'yellow', stopped: 'red', held: 'yellow' } as const;
const MEANING = {
  open: 'open',
  paused: 'paused',
  probing: 'probing: one request finds out whether the service takes more',
  stopped: 'stopped until somebody mends it',
  held: 'held by an operator',
} as const;

/** A lane in a few lines. */
export function renderLane(lane: LaneStatus, now: number, paint: Paint): string[] {
  const { name, state, quota, pause, campaigns } = lane;
  const label = (text: string): string => `  ${paint('dim', padded(text, 9))} `;
  const used = quota.used.send + quota.used.poll + quota.inFlight;
  const known =
    quota.limit === null ? '' : `${padded(paint('cyan', bar(used / quota.limit, BAR_WIDTH)), BAR_WIDTH)} `;
  const taken =
    quota.limit === null ? `${grouped(used)} used; the limit is not known yet` : usedWords(used, quota.limit);
  const learned = quota.learned === null ? '' : `, ${grouped(quota.learned)} learned`;
  const coming = quota.permitsToCome
    .slice(0, STEPS_SHOWN)
    .map(({ at, permits }) => `${grouped(permits)} ${Date.parse(at) <= now ? 'now' : `at ${until(at, now)}`}`)
    .join(', ');
  const resume = state === 'stopped' || state === 'held' ? `; go on with: volley lane resume ${name}` : '';
  return [
    `${paint('bold', name)}  ${paint(INK[state], MEANING[state])}`,
    ...(pause === null
      ? []
      : [
          `${label('because')}${oneLine(pause.reason).replace(/\.$/, '')}${pause.until === null ? '' : `, until ${until(pause.until, now)}`}${resume}`,
        ]),
    `${label('quota')}${known}${taken} (${grouped(quota.used.send)} sent, ${grouped(quota.used.poll)} polls, ${grouped(quota.inFlight)} in flight); configured: ${quota.configured}${learned}`,
    ...(coming === '' ? [] : [`${label('permits')}${coming}`]),
    `${label('work')}${counted(campaigns.running, 'campaign')} running, ${grouped(campaigns.scheduled)} scheduled; ${counted(lane.awaitingReports, 'request awaits', 'requests await')} reports, ${grouped(lane.unknownOutcomes)} unknown; ${counted(lane.throttled, 'answer')} 429 so far`,
  ];
}
