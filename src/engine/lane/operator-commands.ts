import type { Events } from '../../base/events/events.js';
import { NotAllowedError, NotFoundError } from '../../campaign/errors/errors.js';
import { StateError } from '../../campaign/errors/state-error.js';
import { describeActor } from '../../campaign/states/actor.js';
import type { Operator } from '../../campaign/states/audit.js';
import { CAMPAIGN_STATE, type CampaignState } from '../../campaign/states/campaign.js';
import { activate, bySweep, type Wakers, wakeLane } from '../jobs/wake.js';
import { inFlightOf, readState, type StoredState } from '../store/campaigns.js';
import { firstClosed } from './closed.js';
import type { Lane } from './lane.js';
import type { LaneFinder } from './lane-finder.js';

/**
 * An operator's commands for a campaign or a lane. Each is recorded in the audit trail first, unless it would change nothing. Redis
 * stores their effect, so every process obeys them.
 */
export interface OperatorCommands {
  /**
   * Pauses a campaign. When it resolves, the campaign starts no more requests. `inFlight`: requests that are still running.
   * Rejects with an `InputError` if the campaign is importing, completed, or cancelled.
   */
  pause(id: string): Promise<{ inFlight: number }>;
  /** Resumes a paused campaign. Rejects with an `InputError` if the campaign is importing, completed, or cancelled. */
  resume(id: string): Promise<void>;
  /**
   * Cancels a campaign for good. When it resolves, the campaign starts no more requests. `inFlight`: requests that are still
   * running; `cancelled`: recipients that are not sent to. Rejects with an `InputError` if the campaign is importing or completed.
   */
  cancel(id: string): Promise<{ inFlight: number; cancelled: number }>;
  /** Holds a lane until {@link OperatorCommands.resumeLane}: it starts no requests. See there for who may do that. `reason`: why, for people. */
  holdLane(name: string, reason?: string): Promise<void>;
  /**
   * Reopens a lane that is held, backing off, or stopped. Rejects with a `NotAllowedError` if an actor for all lanes holds it, and this one is
   * limited to some.
   */
  resumeLane(name: string): Promise<void>;
  /**
   * Gives a lane a new name; it keeps its id, quota, and campaigns. Processes use the names of their configuration until you restart
   * them with the new one. Rejects with a `NotFoundError` if no lane has this name, and with an `InputError` if the new name is invalid
   * or taken.
   */
  renameLane(name: string, newName: string): Promise<{ readonly id: string }>;
}

type CampaignCommand = 'pause' | 'resume' | 'cancel';

const allows = (state: CampaignState, command: CampaignCommand): boolean => {
  const allowed: readonly string[] = CAMPAIGN_STATE[state].commands;
  return allowed.includes(command);
};

/** Whether everything of a campaign was sent and has an outcome. The script checks it again. */
const isSent = ({ counts }: Pick<StoredState, 'counts'>): boolean =>
  (counts['planned'] ?? 0) + (counts['sending'] ?? 0) + (counts['unknown'] ?? 0) === 0;

/** Whether a campaign is already as the command would leave it. */
function changesNothing(
  { state, pauseReason }: Pick<StoredState, 'state' | 'pauseReason'>,
  command: CampaignCommand,
  reason: string,
): boolean {
  switch (command) {
    case 'pause':
      return state === 'paused' && pauseReason === reason;
    case 'resume':
      return state !== 'paused';
    case 'cancel':
      return state === 'cancelled';
    default:
      return command satisfies never;
  }
}

/** See {@link OperatorCommands}. A command that changes nothing emits no event. */
export function operatorCommands(
  finder: LaneFinder,
  wakers: Wakers,
  events: Events,
  by: Operator,
): OperatorCommands {
  const actor = describeActor(by.actor);
  /** Wakes a lane that is resumed once more, in case its job is lost. */
  const nudge = (lane: Lane): Promise<void> =>
    activate(
      lane,
      async () => {},
      () => wakeLane(lane, wakers),
    );
  /** A lane that is configured or registered: after a restored backup, also those that only other processes serve must be held. */
  const laneOf = async (name: string): Promise<Lane> => finder.withId(await finder.known(name));
  const command = async (id: string, action: CampaignCommand) => {
    const lane = await finder.of(id);
    const reason = `paused by ${actor}`;
    const missing = (): NotFoundError => new NotFoundError(`there is no campaign ${id}`);
    const refused = (why: 'sent' | CampaignState): StateError =>
      new StateError(
        why === 'sent'
          ? `everything of campaign ${id} has been sent; there is nothing to cancel`
          : `campaign ${id} is ${why}; you cannot ${action} it`,
      );
    const before = await readState(lane.redis, lane.keys, lane.id, id);
    if (before === null) throw missing();
    if (!allows(before.state, action)) throw refused(before.state);
    if (changesNothing(before, action, reason))
      return { lane, inFlight: await inFlightOf(lane, [id]), cancelled: 0, isNew: false };
    if (action === 'cancel' && isSent(before)) throw refused('sent');
    const result = await by.audited(
      { action: `campaign.${action}`, lane: lane.id, campaign: id },
      async () => {
        const done = await activate(
          lane,
          () => lane.commands.campaign(action, id, reason),
          () => (action === 'resume' ? wakeLane(lane, wakers) : bySweep()),
        );
        if (done.outcome === 'missing') throw missing();
        if (done.outcome !== 'done') throw refused(done.outcome);
        return done;
      },
    );
    lane.emit(result.events);
    return { lane, inFlight: result.inFlight, cancelled: result.cancelled, isNew: result.isNew };
  };

  return {
    async pause(id) {
      const { lane, inFlight, isNew } = await command(id, 'pause');
      const paused = { lane: lane.name, campaign: id, by: 'operator', actor, inFlight } as const;
      if (isNew) events.emit({ type: 'campaign.paused', ...paused });
      return { inFlight };
    },

    async resume(id) {
      const { lane, isNew } = await command(id, 'resume');
      if (isNew) events.emit({ type: 'campaign.resumed', lane: lane.name, campaign: id, actor });
      else await nudge(lane);
    },

    async cancel(id) {
      const { lane, inFlight, cancelled, isNew } = await command(id, 'cancel');
      if (isNew) events.emit({ type: 'campaign.cancelled', lane: lane.name, campaign: id, inFlight, actor });
      return { inFlight, cancelled };
    },

    async holdLane(name, why = '') {
      const lane = await laneOf(name);
      const reason = `held by ${actor}${why === '' ? '' : `: ${why}`}`;
      const held = firstClosed(await lane.freshStatus(), ['held']);
      // The hold of an operator for all lanes takes the place of a tenant's.
      if (held !== undefined && (held.by !== 'tenant' || by.isLimited)) return;
      const outcome = await by.audited({ action: 'lane.hold', lane: lane.id }, () =>
        lane.commands.lane('hold', reason, undefined, by.isLimited),
      );
      if (outcome !== 'changed') return;
      const { epoch } = await lane.freshStatus();
      events.emit({ type: 'lane.held', lane: name, reason, epoch, actor });
    },

    async resumeLane(name) {
      const lane = await laneOf(name);
      const view = await lane.freshStatus();
      if (firstClosed(view, ['stopped', 'held', 'throttled', 'unreachable']) === undefined)
        return nudge(lane);
      const outcome = await by.audited({ action: 'lane.resume', lane: lane.id }, async () => {
        const done = await activate(
          lane,
          () => lane.commands.lane('resume', '', undefined, by.isLimited),
          (answer) => (answer === 'refused' ? null : wakeLane(lane, wakers)),
        );
        if (done === 'refused')
          throw new NotAllowedError(
            `an operator holds the lane ${name}, and only an operator for all lanes can resume it`,
          );
        return done;
      });
      const { epoch } = await lane.freshStatus();
      if (outcome === 'changed') events.emit({ type: 'lane.reopened', lane: name, epoch, actor });
    },

    async renameLane(name, newName) {
      const lane = await finder.idOf(name);
      const details = { from: name, to: newName };
      const { id } = await by.audited({ action: 'lane.rename', lane, details }, () =>
        finder.rename(name, newName),
      );
      events.emit({ type: 'lane.renamed', lane: newName, from: name, id, actor });
      return { id };
    },
  };
}
