import type { Stage } from '../stage.js';
import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** p1 sends what it claims at 2 s, and dies. Redis loses its claims, and with them all that is known of its requests. */
function loseProcess(stage: Stage): void {
  stage.at(1_900, () => stage.faults.forget(300));
  stage.at(2_100, () => stage.faults.kill(stage.process('p1')));
}

const HOLDS_NOTHING = {
  file: 'engine/claim/placeholders.lua',
  from: "if not isOpen or c.remainder ~= 'planned' or lane.mayHaveLost ~= 1 or LOST.is_newcomer(lane, c) then return end",
  to: 'if true then return end',
};

/** Worlds in which a lane recovers from a loss of data. */
export const RECOVERY_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'lost-with-the-data',
    about: 'A process dies with the data that Redis loses. The others cannot know what it has sent.',
    scenario: scenario({ campaigns: [campaign({ recipients: 3 })], lossMs: 2_000, chaosMs: 30_000 }),
    script: loseProcess,
    bug: {
      name: 'a lane makes no placeholder claims for lost workers',
      invariant: 2,
      why: 'the requests of the lost process are sent again',
      lua: [
        {
          file: 'engine/claim/barrier.lua',
          from: 'lane.placeholders = LOST.batches(lane)',
          to: '',
        },
      ],
    },
  },
  {
    name: 'joining-lost',
    about:
      'p3 joins the workers of a lane, and dies. Redis loses that it has joined. It has sent nothing, because a worker claims only when its joining can no longer be lost.',
    scenario: scenario({ campaigns: [campaign({ startsInMs: 15_100 })], lossMs: 2_000, chaosMs: 30_000 }),
    script(stage) {
      // p3 takes its place, when the lane has forgotten it.
      stage.at(1_000, () => stage.faults.kill(stage.process('p1'), 14_000));
      stage.at(14_800, () => stage.faults.stop(stage.process('p2'), 2_200, []));
      stage.at(14_900, () => stage.faults.forget(1_000));
      stage.at(15_500, () => stage.faults.kill(stage.process('p3')));
    },
    bug: {
      name: 'a worker claims before its joining is safe',
      invariant: 2,
      why: 'Redis loses both, does not know that a worker is lost, and the others send its messages again',
      lua: [
        {
          file: 'engine/claim/workers.lua',
          from: 'return workers[process][1] + lane.mayLoseMs',
          to: 'return workers[process][1]',
        },
      ],
    },
  },
  {
    name: 'paused-while-recovering',
    seeds: [1897],
    about:
      'A process dies with the data that Redis loses. Until the lane knows that it is lost, an operator pauses the campaign, and later resumes it.',
    scenario: scenario({ campaigns: [campaign({ recipients: 3 })], lossMs: 2_000, chaosMs: 30_000 }),
    script(stage) {
      loseProcess(stage);
      stage.at(3_000, () => stage.command('pause', 'c00'));
      stage.at(20_000, () => stage.command('resume', 'c00'));
    },
    bug: {
      name: 'a campaign that is paused during a recovery gets no placeholder claims',
      invariant: 2,
      why: 'after it is resumed, the requests of the lost process are sent again',
      lua: [HOLDS_NOTHING],
    },
  },
  {
    name: 'permits-lost',
    about:
      'A process dies with the data that Redis loses. Until the lane knows that it is lost, an operator pauses the campaign, and another one begins.',
    scenario: scenario({
      campaigns: [campaign({ recipients: 5 }), campaign({ recipients: 10, committedAt: 3_500 }, 1)],
      lossMs: 2_000,
      chaosMs: 30_000,
    }),
    script(stage) {
      loseProcess(stage);
      stage.at(3_000, () => stage.command('pause', 'c00'));
    },
    bug: {
      name: 'what is kept from a pause during a recovery uses no permits',
      invariant: 1,
      why: 'the window also has the requests of the lost process',
      lua: [
        {
          file: 'engine/claim/barrier.lua',
          from: 'local sends = requests_for(lane.heldBack)',
          to: 'local sends = 0',
        },
      ],
    },
  },
  {
    name: 'permits-lost-before-a-replay',
    about:
      'p1 sends the first messages of a campaign, and dies. p2 sends a later one. Redis loses all of that, so only the place of what p2 replays shows that p1 sent. Another campaign begins.',
    scenario: scenario({
      lanes: [lane({ settings: { pollShare: 0 } })],
      campaigns: [campaign({ recipients: 7 }), campaign({ recipients: 10, committedAt: 4_500 }, 1)],
      lossMs: 2_000,
      chaosMs: 30_000,
    }),
    script(stage) {
      stage.fates('send', {}, {}, {}, {}, {}, { kind: 'refused' }, { kind: 'refused' });
      stage.at(1_900, () => stage.faults.forget(1_800));
      // It would claim the two again itself.
      stage.delay('p1', 'claim-send', 5_000, 3);
      stage.at(2_050, () => stage.faults.loseLocks(stage.process('p1')));
      stage.at(2_060, () => stage.faults.kill(stage.process('p1'), 15_000));
    },
    bug: {
      name: 'what a lost process has sent before a replayed claim uses no permits',
      invariant: 1,
      why: 'the window also has the requests of the lost process',
      lua: [
        {
          file: 'engine/recovery/replay-claim.lua',
          from: 'note_held_back(first - cursor)',
          to: '',
        },
      ],
    },
  },
  {
    name: 'cancelled-while-recovering',
    seeds: [1897],
    about:
      'A process dies with the data that Redis loses. Until the lane knows that it is lost, an operator cancels the campaign.',
    scenario: scenario({ campaigns: [campaign({ recipients: 3 })], lossMs: 2_000, chaosMs: 30_000 }),
    script(stage) {
      loseProcess(stage);
      stage.at(3_000, () => stage.command('cancel', 'c00'));
    },
    bug: {
      name: 'a campaign that is cancelled during a recovery gets no placeholder claims',
      invariant: 4,
      why: 'recipients count as cancelled, although the lost process has sent their messages',
      lua: [HOLDS_NOTHING],
    },
  },
  {
    name: 'cancelled-before-the-replay',
    seeds: [3315],
    about:
      'Redis loses data, and p1 is slow to replay its claims. Meanwhile, an operator cancels the campaign, of which nothing was sent.',
    scenario: scenario({ lossMs: 2_000 }),
    script(stage) {
      stage.at(1_000, () => stage.faults.forget(500));
      stage.at(1_400, () => stage.faults.stop(stage.process('p1'), 3_000, []));
      stage.at(2_000, () => stage.command('cancel', 'c00'));
    },
    bug: {
      name: 'a campaign does not end when its placeholder claims are returned',
      invariant: 0,
      why: 'nothing of it is open, but it never ends',
      lua: [
        {
          file: 'engine/recovery/recovery-barrier.lua',
          from: 'if c then campaign_end(endedKey, lapsingKey, claim.campaign, c, now, events) end',
          to: '',
        },
      ],
    },
  },
  {
    name: 'next-server-too-soon',
    seeds: [500867],
    about:
      'A process dies with the data that Redis loses. Before its claims become unknown, another server takes over, which does not know the lost process any more.',
    scenario: scenario({ campaigns: [campaign({ recipients: 3 })], lossMs: 2_000, chaosMs: 30_000 }),
    script(stage) {
      loseProcess(stage);
      stage.at(13_000, () => stage.faults.moveSlots());
      stage.at(13_100, () => stage.sweep('p2'));
    },
    bug: {
      name: 'placeholder claims of an earlier loss are returned when all workers have replayed their claims',
      invariant: 2,
      why: 'the workers do not speak for a process that was lost before, whose requests are sent again',
      lua: [
        {
          file: 'engine/claim/lost-time.lua',
          from: "return claim.placeholder == 'barrier' and claim.lossNumber == lane.losses",
          to: "return claim.placeholder == 'barrier'",
        },
      ],
    },
  },
  {
    name: 'parts-of-a-batch-lost',
    seeds: [1873],
    about:
      'A batch has an unknown outcome, and an operator sends it again. The service refuses it, so p1 sends its halves, and dies. Redis loses all that p1 did for the operator.',
    scenario: scenario({
      lanes: [
        lane({
          settings: {
            // A request every 300 ms.
            hourlyQuota: 200,
            pacing: 'smooth',
            maxRecipientsPerRequest: 4,
            clientCorrelator: { deduplicatesForMs: 24 * 3_600_000 },
          },
        }),
      ],
      campaigns: [campaign({ recipients: 4 })],
      lossMs: 2_000,
      chaosMs: 30_000,
    }),
    script(stage) {
      // The request does not arrive, and its repeat shows nothing. The operator has it sent once more.
      stage.fates('send', { kind: 'reset' }, { refusal: 500 }, { refusal: 400 });
      stage.at(4_000, async () => {
        await stage.resolve('lane0', 'resend');
        await stage.faults.forget(1_500);
      });
      stage.at(5_000, () => stage.faults.kill(stage.process('p1'), 2_000));
    },
    bug: {
      name: 'a batch that a lost worker may have sent is repeated under its correlator',
      invariant: 2,
      why: 'the correlator names the whole batch, and the service sends the messages of its parts again',
      lua: [
        {
          file: 'engine/sending/settle-send.lua',
          from: 'and not claim.placeholder and not (claim.notAfter',
          to: 'and not (claim.notAfter',
        },
      ],
    },
  },
];
