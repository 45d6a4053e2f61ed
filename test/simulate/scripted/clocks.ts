import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which the clock of Redis is set. */
export const CLOCK_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'clock-corrected-twice',
    seeds: [1179],
    about:
      'The clock is set back, which only p2 notices, and then forward, which only p1 notices. p1 compares it with the time before both.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 1 } })],
      campaigns: [campaign(), campaign({ committedAt: 6_728 }, 1)],
      chaosMs: 4_000,
    }),
    script(stage) {
      stage.fates('send', { response: 500 });
      stage.at(871, () => stage.faults.setClock(-19_849, ({ name }) => (name === 'p2' ? 700 : undefined)));
      stage.at(1_696, () =>
        stage.faults.setClock(1_633_065, ({ name }) => (name === 'p1' ? 100 : undefined)),
      );
    },
    bug: {
      name: 'a process does not know that it may have missed a step back',
      invariant: 1,
      why: 'it moves the lane by too little, and a permit returns early',
      lua: [
        {
          file: 'engine/store/record.lua',
          from: 'local mayHaveMissed = lane.agreedAt < since and since <= lane.setBackFrom',
          to: 'local mayHaveMissed = false',
        },
      ],
    },
  },
  {
    name: 'clock-set-while-full',
    seeds: [6068],
    about:
      'Redis is full, and its clock is set forward. The only process that knows the clock corrects the lane, and dies before Redis has memory again.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 1 } })],
      campaigns: [campaign({ recipients: 2 })],
      processes: 1,
    }),
    script(stage) {
      stage.at(2_000, () => stage.faults.fill(4_000));
      stage.at(2_100, () => stage.faults.setClock(3_600_000, () => 0));
      stage.at(3_000, () => stage.faults.kill(stage.process('p1')));
    },
    bug: {
      name: 'a lane is not corrected while Redis is full',
      invariant: 1,
      why: 'a process that never knew the clock takes the new time for the right one, and a permit returns early',
      lua: [
        {
          file: 'engine/scripts/correct-clock.lua',
          from: 'run_when_full(laneKey)\nlocal lane, now = lane_read(laneKey), clock(time)',
          to: 'local lane, now = lane_read(laneKey), clock(time)',
        },
      ],
    },
  },
  {
    name: 'clock-set-before-a-loss',
    seeds: [1357],
    about:
      'The clock is set forward by an hour, and Redis loses data. p3, which has just started and knows only the new time, finds the loss; only then does p2 correct the lane.',
    scenario: scenario({ lossMs: 2_000 }),
    script(stage) {
      stage.at(1_000, () => stage.faults.forget(1_000));
      stage.at(1_500, () => stage.faults.setClock(3_600_000, () => undefined));
      stage.at(1_600, () => stage.faults.kill(stage.process('p1'), 500));
      stage.at(1_900, () => stage.faults.stop(stage.process('p2'), 500, []));
      stage.at(2_500, () => stage.command('cancel', 'c00'));
    },
    bug: {
      name: 'a recovery that began after a step is delayed by it',
      invariant: 10,
      why: 'the lane recovers for an hour, and its job waits for that',
      lua: [
        {
          file: 'engine/scripts/correct-clock.lua',
          from: 'recovery = recovering,',
          to: 'recovery = ending,',
        },
        {
          file: 'engine/scripts/correct-clock.lua',
          from: "recovering(entry['until'])",
          to: "ending(entry['until'])",
        },
      ],
    },
  },
  {
    name: 'clock-correction-lost',
    seeds: [31100],
    about:
      'The clock is set forward, and every process notices. Then Redis loses that the lane was corrected, and no process remains that knows only the time before.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 1 } })],
      campaigns: [campaign({ recipients: 2 })],
      lossMs: 2_000,
    }),
    script(stage) {
      stage.at(3_000, () => stage.faults.forget(1_500));
      stage.at(3_500, () => stage.faults.setClock(3_600_000, () => 100));
    },
    bug: {
      name: 'a process forgets what it expected before a step',
      invariant: 1,
      why: 'it takes the new time for the right one, and a permit returns early',
      lua: [
        {
          file: 'engine/store/record.lua',
          from: 'if not ahead or tonumber(from) <= lane.agreedAt then',
          to: 'if true then',
        },
      ],
    },
  },
  {
    name: 'suspended-together',
    seeds: [4100777],
    about:
      'A request gets no response. All machines are suspended, and count none of that time, for almost as long as the service remembers a correlator. To them, the clock of Redis seems to be set forward.',
    scenario: scenario({
      lanes: [lane({ settings: { clientCorrelator: { deduplicatesForMs: 20_000 } } })],
      chaosMs: 60_000,
    }),
    script(stage) {
      stage.fates('send', { kind: 'silence' });
      stage.at(1_500, () => {
        for (const name of ['p1', 'p2'])
          stage.faults.stop(stage.process(name), 19_000, ['monotonic', 'uptime']);
      });
    },
    bug: {
      name: 'a step forward makes requests younger',
      invariant: 2,
      why: 'a batch is repeated after the service has forgotten its correlator',
      lua: [
        {
          file: 'engine/scripts/correct-clock.lua',
          from: 'if rules.repeatFor > 0 then claim.firstAt',
          to: 'if backMs > 0 then claim.firstAt',
        },
      ],
    },
  },
];
