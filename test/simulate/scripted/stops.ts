import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which recipients send stop words while their campaign is sent. */
export const STOP_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'stop-while-sending',
    about: 'A recipient sends STOP after the first requests of its campaign, and before its own is claimed.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 10 } })],
      campaigns: [campaign({ recipients: 14 })],
    }),
    script(stage) {
      stage.at(5_000, () => stage.stop('c00', 13));
    },
    bug: {
      name: 'rendering does not check suppression',
      invariant: 14,
      why: 'a number that has sent STOP before its request was claimed gets a message',
      lua: [
        {
          file: 'engine/suppression/check-suppressed.lua',
          from: 'local isSuppressed = onAll[i] or onLane[i]',
          to: 'local isSuppressed = false',
        },
      ],
    },
  },
  {
    name: 'stop-of-a-killed-process',
    about:
      'A process is killed when it has stored a stop word in two parts. Before another one acts on it, the service gets no success, and repeats it.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 10 } })],
      campaigns: [campaign({ recipients: 14 })],
      chaosMs: 30_000,
      replies: [
        { campaign: 'c00', ordinal: 13, at: 50_000, text: 'stop', isLong: true, times: 2, withinMs: 0 },
      ],
    }),
    script(stage) {
      stage.after('p1', 'receive-inbound', () => stage.faults.kill(stage.process('p1'), 5_000), 2);
    },
    bug: {
      name: 'a repeat of a stop word that is not in force yet gets a success',
      invariant: 14,
      why: 'its sender gets a message that was claimed after the success',
      lua: [
        {
          file: 'engine/inbound/receive-inbound.lua',
          from: "return pending.count >= pending.total and { '' } or {}",
          to: 'return {}',
        },
      ],
    },
  },
  {
    name: 'suppressed-while-starting',
    about:
      'A recipient sends STOP, and later START. An operator suppresses the number as the START arrives. It undoes only what the STOP has done.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 10 } })],
      campaigns: [campaign({ recipients: 14 })],
      chaosMs: 30_000,
      replies: (['stop', 'start'] as const).map((text, at) => ({
        ...{ campaign: 'c00', ordinal: 13, at: 5_000 + 5_000 * at, text },
        ...{ isLong: false, times: 1, withinMs: 0 },
      })),
    }),
    script(stage) {
      stage.after('p1', 'receive-inbound', () => stage.suppress('c00', 13), 1);
    },
    bug: {
      name: 'undoing a suppression removes the entry of another operation',
      invariant: 14,
      why: 'a number that an operator has suppressed gets a message',
      lua: [
        {
          file: 'engine/suppression/change-suppressed.lua',
          from: 'if value == operation then take_off(number, value) end',
          to: 'if value then take_off(number, value) end',
        },
      ],
    },
  },
  {
    name: 'stop-across-a-clock-step',
    seeds: [4413],
    about:
      'A process is killed when it has stored the first part of a stop word. The clock is set forward before the second part arrives.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 1 } })],
      campaigns: [campaign({ recipients: 2 })],
      chaosMs: 60_000,
      replies: [
        { campaign: 'c00', ordinal: 1, at: 5_000, text: 'stop', isLong: true, times: 1, withinMs: 0 },
      ],
    }),
    script(stage) {
      stage.after('p1', 'receive-inbound', () => {
        stage.faults.kill(stage.process('p1'), 5_000);
        stage.faults.setClock(3_600_000, () => 0);
      });
    },
    bug: {
      name: 'a message waits for its parts by the new clock',
      invariant: 14,
      why: 'it is logged without its second part, so it is not recognised as a stop word',
      lua: [
        {
          file: 'engine/scripts/correct-clock.lua',
          from: 'message.at, message.lease = past(message.at), ending(message.lease)',
          to: 'message.lease = ending(message.lease)',
        },
      ],
    },
  },
];
