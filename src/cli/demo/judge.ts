import type { CampaignStatus, LaneStatus } from '../../campaign/views.js';
import type { Summary } from '../../simulator/index.js';
import { MAIN_KEY, WORKERS } from './plan.js';

/** What a run of the demo left behind. */
export interface Outcome {
  readonly statuses: readonly CampaignStatus[];
  /** Lines of the report by status. */
  readonly reported: ReadonlyMap<string, number>;
  /** What the service itself says. */
  readonly summary: Summary;
  readonly lanes: readonly LaneStatus[];
  readonly workers: number;
}

/** Everything the demo promises and this run did not show, in a sentence each: none, or it has failed. */
export function missing({ statuses, reported, summary, lanes, workers }: Outcome): string[] {
  const total = statuses.reduce((sum, { recipients }) => sum + recipients.total, 0);
  const lines = [...reported.values()].reduce((sum, count) => sum + count, 0);
  const final = (reported.get('deliveredToTerminal') ?? 0) + (reported.get('deliveryImpossible') ?? 0);
  const main = summary.maxPerWindow.find(({ key }) => key === MAIN_KEY);
  const auto = lanes.find(({ name }) => name === 'auto');
  const promises: readonly (readonly [boolean, string])[] = [
    [statuses.length === 2, `there are ${statuses.length} campaigns, not 2`],
    ...statuses.map(
      ({ id, state }) => [state === 'completed', `campaign ${id} is ${state}, not completed`] as const,
    ),
    [
      final === total && lines === total,
      `${final} of ${total} recipients are final; the report has ${lines} lines`,
    ],
    [summary.recipients === total, `the service accepted ${summary.recipients} recipients, not ${total}`],
    [summary.duplicates === 0, `${summary.duplicates} texts were accepted twice`],
    [
      main !== undefined && main.quota !== null && main.arrived <= main.quota,
      `lane main put ${main?.arrived} requests into one window of ${main?.quota}`,
    ],
    [summary.throttled > 0, 'the service never answered 429'],
    [(auto?.quota.learned ?? null) !== null, 'lane auto has not learned its quota'],
    [summary.refreshesGranted > 0, 'no token was refreshed'],
    [summary.reusedRefreshTokens === 0, `${summary.reusedRefreshTokens} refresh tokens were presented twice`],
    [workers >= WORKERS, `${workers} workers were there, not ${WORKERS}`],
  ];
  return promises.filter(([kept]) => !kept).map(([, sentence]) => sentence);
}
