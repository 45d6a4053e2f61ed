import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** The responses to the halves come after Redis has lost them. */
const HALVES = [
  { arrivesInMs: 600, returnsInMs: 350 },
  { arrivesInMs: 600, returnsInMs: 350 },
];

/** Worlds in which Redis loses data that it has acknowledged. */
export const DATA_LOSS_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'split-batch-lost',
    seeds: [8482],
    about:
      'p1 has a batch refused, and splits it. p2 sends the halves. Redis then loses all of that and shows the batch as claimed by p1, which replays its refusal.',
    scenario: scenario({
      lanes: [lane({ settings: { maxRecipientsPerRequest: 2 } })],
      campaigns: [campaign({ recipients: 2, bad: new Set([0]) })],
      lossMs: 2_000,
    }),
    script(stage) {
      stage.fates('send', { arrivesInMs: 850, returnsInMs: 810 }, ...HALVES);
      // The claim of p1 is lost, and restored from its memory.
      stage.at(923, () => stage.faults.forget(1_805));
      // What is restored is saved before the refusal comes.
      stage.at(3_000, () => stage.faults.forget(1_900));
      // By then, p1 has settled its refusal. p2 gets its job.
      stage.at(3_675, () => {
        stage.faults.loseLocks(stage.process('p1'));
        stage.faults.stop(stage.process('p1'), 3_300, []);
      });
      stage.at(4_000, () => stage.sweep('p2'));
    },
    bug: {
      name: 'a replayed claim does not replace an older one that Redis remembers',
      invariant: 2,
      why: 'the owner of the older claim releases what was accepted as part of the later one',
      lua: [
        {
          file: 'engine/recovery/replay-claim.lua',
          from: 'local isOlder = hasLost and tonumber(all[i]) < tonumber(number)',
          to: 'local isOlder = false',
        },
      ],
    },
  },
  {
    name: 'claim-number-used-again',
    about:
      'Two servers take over from one, and assign the same claim numbers. p1 is suspended with a claim of the first when p2 gets its number from the second, and reports that nothing left before p2 has a response.',
    scenario: scenario({
      chaosMs: 120_000,
      lossMs: 2_000,
      rollback: { at: 1_000, loseAfterMs: 200, againAfterMs: 1_500, forMs: 26_000 },
    }),
    bug: {
      name: 'a settlement may come from another turn',
      invariant: 2,
      why: 'a process that claimed a number before Redis lost data releases the claim that has the number now',
      lua: [
        {
          file: 'engine/claim/settle.lua',
          from: 'return claim.turn == settlement.turn and claim.campaign',
          to: 'return claim.campaign',
        },
      ],
    },
  },
  {
    name: 'revived-after-a-resend',
    about:
      'p1 is suspended with a claim that Redis loses, and counts as lost. An operator sends its batch again, and p2 waits for the response when p1 replays its claim, and releases it.',
    scenario: scenario({ chaosMs: 60_000, lossMs: 2_000 }),
    script(stage) {
      stage.fates('send', { kind: 'silence' });
      stage.at(1_900, () => stage.faults.forget(300));
      stage.at(2_008, () => stage.faults.stop(stage.process('p1'), 30_000, ['monotonic']));
      stage.at(30_000, () => stage.resolve('lane0', 'resend'));
    },
    bug: {
      name: 'a process that comes back replaces a claim made since',
      invariant: 2,
      why: 'its late settlement releases what another process has sent again',
      lua: [
        {
          file: 'engine/recovery/replay-claim.lua',
          from: 'local isOlder = hasLost and tonumber(all[i]) < tonumber(number)',
          to: 'local isOlder = hasLost',
        },
      ],
    },
  },
  {
    name: 'released-batch-lost',
    about:
      'The first request of p1 never leaves, so it claims the batch once more. Redis loses that claim, and p2 notices. Redis has the batch as released when p1 replays the claim.',
    scenario: scenario({ lossMs: 2_000 }),
    script(stage) {
      stage.fates('send', { kind: 'refused' }, { returnsInMs: 1_500 });
      stage.after('p1', 'settle-send', () => stage.faults.forget(500));
    },
    bug: {
      name: 'a claim number is used again after a loss of data',
      invariant: 2,
      why: 'nothing tells a claim of the lost time from one that was released since, so the batch is sent again',
      lua: [
        {
          file: 'engine/store/record.lua',
          from: 'lane.sequence = (math.floor(math.max(lane.sequence, known) / 1e9) + 1) * 1e9',
          to: 'lane.sequence = math.max(lane.sequence, known)',
        },
      ],
    },
  },
  {
    name: 'slots-moved',
    about:
      'All slots move to another server. p1 notices and announces it to p2, whose connection has not broken.',
    scenario: scenario({
      campaigns: [campaign({ committedAt: 16_000 })],
      lossMs: 2_000,
      movesAt: [15_500],
    }),
    bug: {
      name: 'a loss of data is not announced to the other workers',
      invariant: 4,
      why: 'workers whose connections did not break count as lost, and their requests get an unknown outcome',
      parts: { replayAfterAnnouncements: async () => {} },
    },
  },
  {
    name: 'lost-while-replaying',
    about:
      'p1 replays a claim to a server that knows it. Before p1 can say so, another server takes over, which has lost the claim. Then p1 is stopped for a while, and p2 gets its job.',
    scenario: scenario({ lossMs: 2_000 }),
    script(stage) {
      stage.at(1_900, () => stage.faults.forget(250));
      stage.at(2_100, () => stage.faults.cut(stage.process('p1'), 5));
      // The report that ends the replay is on its way when the server is lost.
      stage.at(2_101, () => stage.delay('p1', 'recovery-barrier', 100, 1));
      stage.at(2_150, () =>
        stage.after('p1', 'recovery-barrier', () => {
          stage.faults.loseLocks(stage.process('p1'));
          stage.faults.stop(stage.process('p1'), 4_000, []);
          stage.sweep('p2');
        }),
      );
    },
    bug: {
      name: 'a replay confirms a loss of data that came after it began',
      invariant: 2,
      why: 'the lane goes on without the claims of a worker that has not replayed them, and sends their messages again',
      lua: [
        {
          file: 'engine/recovery/recovery-barrier.lua',
          from: 'and after == LOSSES.name(lane) then',
          to: 'then',
        },
      ],
    },
  },
  {
    name: 'lost-before-an-outage',
    about: 'Redis loses what p1 has just sent, and no process reaches it for two minutes.',
    scenario: scenario({ campaigns: [campaign({ recipients: 2 })], lossMs: 2_000, chaosMs: 150_000 }),
    script(stage) {
      // The turn of p1 goes on, because it waits for the second response.
      stage.fates('send', {}, { kind: 'silence' });
      stage.at(1_900, () => stage.faults.forget(300));
      stage.at(2_202, () => {
        for (const name of ['p1', 'p2']) stage.faults.cut(stage.process(name), 120_000);
      });
    },
    bug: {
      name: 'a process forgets its claims while it does not reach Redis',
      invariant: 2,
      why: 'it replays nothing of what Redis lost right before the outage, and the lane sends it again',
      parts: {
        recentClaims(monotonic, self, replay = async () => 0) {
          const from = monotonic();
          const isOver = () => monotonic() - from > 90_000;
          return recentClaims(monotonic, self, (recent) =>
            replay({ ...recent, all: () => (isOver() ? [] : recent.all()) }),
          );
        },
      },
    },
  },
];
