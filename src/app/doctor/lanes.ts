import { counted, grouped } from '../../base/counted.js';
import { until } from '../../base/moments.js';
import { oneLine } from '../../campaign/text/visible-text.js';
import type { OutboxStatus } from '../../campaign/views/outbox-views.js';
import type { LaneStatus } from '../../campaign/views/views.js';
import type { UnconfiguredLane } from '../../reporting/fleet-snapshot.js';
import { failureText } from '../../reporting/waiting.js';
import type { StoredLaneDetails } from '../access/lane-admin.js';
import { type Finding, fail, ok, warn } from './check.js';

/** Whether a lane sends, and if not, what to do. */
export function checkLane(lane: LaneStatus, now: number): Finding[] {
  const { name, turnFailures, unknownOutcomes } = lane;
  const title = `lane ${name}`;
  return [
    checkState(title, lane, now),
    ...turnFailures.map((failure) =>
      fail(
        title,
        failureText(failure, now, lane.zone),
        'The log of the workers shows the whole error (`turn failed`). Fix the cause; Volley tries again every second.',
      ),
    ),
    ...(unknownOutcomes === 0
      ? []
      : [
          warn(
            `${title}, requests`,
            `${grouped(unknownOutcomes)} ${unknownOutcomes === 1 ? 'has' : 'have'} an unknown outcome`,
            '`volley list` shows their campaigns under ATTENTION. The status of each says how to resolve them.',
          ),
        ]),
  ];
}

function checkState(
  title: string,
  { name, state, blockedBy, zone, window }: LaneStatus,
  now: number,
): Finding {
  const resume = `volley lane resume ${name}`;
  const why = blockedBy === null ? '' : `: ${oneLine(blockedBy.reason)}`;
  const when = (what: string, at: string | null | undefined): string =>
    at == null ? '' : `${what} ${until(at, now, zone)}`;
  switch (state) {
    case 'open':
      return ok(title, 'open');
    case 'waiting':
      return ok(title, `waits${when(' until', window?.opensAt)} (window)`);
    case 'backingOff':
    case 'probing':
      return ok(title, `backing off, reopens by itself${why}${when(', until', blockedBy?.until)}`);
    case 'recovering':
      return ok(title, `recovering${why}${when(', until', blockedBy?.until)}`);
    case 'noToken':
      return warn(
        title,
        `waits for an access token${why}${when(', next attempt', blockedBy?.until)}`,
        'Check ACCOUNT_BASE_URL (for an OAuth 2 client, TOKEN_URL), and that the workers can reach it. To see the state of each token: volley token show',
      );
    case 'held':
      if (blockedBy?.code === 'olderData')
        return fail(
          title,
          `held${why}`,
          `Run \`volley doctor --restored\` and settle what it lists, then: ${resume}`,
        );
      return warn(title, 'held by an operator', `To resume it: ${resume}`);
    case 'stopped':
      return fail(title, `stopped${why}`, `Fix the reason, then: ${resume}`);
    default:
      return state satisfies never;
  }
}

/** What became of the campaigns of a lane that is not configured. */
export function checkUnconfigured({ name, campaigns }: UnconfiguredLane): Finding {
  const { completed, cancelled, ...open } = campaigns;
  const count = Object.values(open).reduce((sum, some) => sum + some, 0);
  if (count === 0)
    return ok(`lane ${name}`, `not configured; ${counted(completed + cancelled, 'campaign')} ended`);
  return warn(
    `lane ${name}`,
    `not configured here, and ${counted(count, 'campaign')} ${count === 1 ? 'has' : 'have'} not ended`,
    `If it has a new name, run \`volley lane rename\` with both names. Otherwise configure it again, or cancel them: \`volley list\` shows their ids`,
  );
}

/** Warns about the outboxes whose messages nothing sends, because their lane is not configured. */
export function checkOutboxes(outboxes: readonly OutboxStatus[], lanes: readonly LaneStatus[]): Finding[] {
  return outboxes
    .filter(({ lane, counts }) => counts.waiting > 0 && !lanes.some(({ name }) => name === lane))
    .map(({ name, lane, counts: { waiting } }) =>
      warn(
        `outbox ${name}`,
        `its lane ${lane} is not configured here, and ${counted(waiting, 'message')} ${waiting === 1 ? 'waits' : 'wait'}`,
        `If the lane has a new name, run \`volley lane rename\` with both names. Otherwise configure it again, or run \`volley outbox cancel-all ${name} --lane ${lane}\``,
      ),
    );
}

/** Whether a lane that is stored in Redis is served. `workers` may have what this process lacks. */
export function checkStored({ name, state, problem }: StoredLaneDetails): Finding[] {
  const title = `stored lane ${name}`;
  if (state === 'closing')
    return [
      warn(
        title,
        'is closed, because its removal has not ended',
        `Unless a removal is running, repeat \`volley lane remove ${name}\`, which ends the removal or reopens the lane`,
      ),
    ];
  if (state === 'leaving') return [ok(title, 'is being removed; it waits for its last reports')];
  if (problem === null) return [];
  const todo =
    state === 'disabled'
      ? `Remove it with \`volley lane remove ${name} --expect 0\`, or correct the configuration, and store it again with \`volley lane set\``
      : 'Give every process the same SECRETS_KEY, and TOKEN_URL if its lane has a client.';
  return [fail(title, problem, todo)];
}
