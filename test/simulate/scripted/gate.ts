import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which the service throttles a lane. */
export const GATE_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'slow-probe',
    about:
      'The service throttles a lane. When the backoff ends, p1 probes, and is stopped and loses its lock before the response comes. p2 takes over the lane.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 100 } })],
      campaigns: [campaign({ recipients: 3 })],
    }),
    script(stage) {
      stage.fates('send', { refusal: 429 }, { refusal: 429 }, { refusal: 429 }, { returnsInMs: 4_000 });
      stage.at(3_000, () => {
        stage.faults.loseLocks(stage.process('p1'));
        stage.faults.stop(stage.process('p1'), 2_000, []);
      });
    },
    bug: {
      name: 'every process probes',
      invariant: 7,
      why: 'all waiting requests leave at once when a backoff ends',
      lua: [
        {
          file: 'engine/quota/gate.lua',
          from: "if now < probeUntil then return 'probing', probeUntil end",
          to: '',
        },
      ],
    },
  },
  {
    name: 'only-polls-answered',
    about:
      'The service answers polls, but no sends: after each backoff, a poll tries it first, and is answered.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 500 } })],
      campaigns: [campaign({ recipients: 70 })],
    }),
    script(stage) {
      const lost = Array.from({ length: 46 }, () => ({ kind: 'reset' }) as const);
      stage.fates('send', { status: 'DeliveredToNetwork' }, ...lost);
    },
    bug: {
      name: 'a poll that is answered opens the lane for all sends',
      invariant: 7,
      why: 'each backoff ends with as many unknown outcomes as may be in flight',
      lua: [
        { file: 'engine/quota/gate.lua', from: 'if gate_sends_fail(lane) then lane.onTrial = 1 end', to: '' },
      ],
    },
  },
  {
    name: 'clock-set-during-a-probe',
    about:
      'p1 probes a lane that the service throttles, and is stopped. The clock is set forward by an hour before the response comes, and p2 takes over the lane.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 100 } })],
      campaigns: [campaign({ recipients: 3 })],
    }),
    script(stage) {
      stage.fates('send', { refusal: 429 }, { refusal: 429 }, { refusal: 429 }, { returnsInMs: 4_000 });
      stage.at(3_000, () => {
        stage.faults.loseLocks(stage.process('p1'));
        stage.faults.stop(stage.process('p1'), 2_000, []);
        stage.faults.setClock(3_600_000, () => 0);
      });
    },
    bug: {
      name: 'a corrected clock forgets a time of a cause',
      invariant: 7,
      why: 'a probe that is in flight seems to be over',
      lua: [
        {
          file: 'engine/scripts/correct-clock.lua',
          from: 'if entry.probeUntil then entry.probeUntil = ending(entry.probeUntil) end',
          to: '',
        },
      ],
    },
  },
  {
    name: 'clock-set-after-a-probe',
    seeds: [32553],
    about:
      'p1 probes a lane that the service throttles. The clock is set forward by an hour, and p1 is killed. p2 probes when the probe of p1 is over, although the claim of p1 seems younger since the correction.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 100 } })],
      campaigns: [campaign({ recipients: 3 })],
      chaosMs: 60_000,
    }),
    script(stage) {
      stage.fates('send', { refusal: 429 }, { refusal: 429 }, { refusal: 429 }, { kind: 'silence' });
      stage.at(4_000, () => stage.faults.setClock(3_600_000, () => 0));
      stage.at(4_500, () => {
        stage.faults.loseLocks(stage.process('p1'));
        stage.faults.kill(stage.process('p1'), 30_000);
      });
    },
    bug: {
      name: 'a corrected clock ends a probe',
      invariant: 7,
      why: 'a probe that is in flight seems to be over',
      lua: [
        {
          file: 'engine/scripts/correct-clock.lua',
          from: 'entry.probeUntil = ending(entry.probeUntil)',
          to: 'entry.probeUntil = past(entry.probeUntil)',
        },
      ],
    },
  },
];
