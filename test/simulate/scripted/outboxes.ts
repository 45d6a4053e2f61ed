import type { OutboxPlan } from '../scenario/scenario.js';
import { OUTBOX } from '../server/lane-state.js';
import { lane, scenario } from './scenario.js';
import type { OpenWorld, ScriptedWorld } from './scripted-world.js';

/** An outbox whose messages come from the script. */
const outbox: OutboxPlan = {
  name: OUTBOX,
  lane: 'lane0',
  lateMs: 3_600_000,
  priority: 'normal',
  messages: 0,
  isVersioned: true,
};

const PAUSE_LOST: ScriptedWorld['bug'] = {
  name: 'a pause of an outbox is acknowledged, but not stored',
  invariant: 8,
  why: 'messages are sent after pause has returned',
  lua: [
    {
      file: 'intake/outbox/command-outbox.lua',
      from: 'campaign_hold(keys, lane, rules, id, c, reason, now)\n  OUTBOX.earlier',
      to: 'OUTBOX.earlier',
    },
  ],
};
/** Requests carry correlators, which the service remembers for 10 min. */
const CORRELATED = lane({ settings: { clientCorrelator: { deduplicatesForMs: 600_000 } } });

/** Worlds in which a platform puts, changes, and cancels the messages of an outbox. */
export const OUTBOX_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'due-while-paused',
    about: 'A message becomes due while its outbox is paused.',
    scenario: scenario({ campaigns: [], outbox }),
    script(stage) {
      stage.at(1_000, () => stage.producer.put('m0', 1, 3));
      stage.at(2_000, () => stage.producer.command('pause'));
    },
    bug: PAUSE_LOST,
  },
  {
    name: 'paused-again-while-resumed',
    seeds: [5024],
    about:
      'A resume is on its way to Redis when the outbox is paused again, which finds it paused already. The resume takes effect last, and is answered first. A message is due then, and another one after one more pause.',
    scenario: scenario({ campaigns: [], outbox, chaosMs: 30_000 }),
    script(stage) {
      const command = (name: 'pause' | 'resume', process: string) => () =>
        stage.producer.command(name, stage.process(process));
      stage.at(100, () => stage.producer.put('m0', 1, 7));
      stage.at(200, () => stage.producer.put('m1', 1, 12));
      stage.at(1_000, command('pause', 'p1'));
      stage.delay('p1', 'command-outbox', 1_500, 1);
      stage.at(2_000, command('resume', 'p1'));
      stage.delay('p2', 'zrange', 2_500);
      stage.at(3_000, command('pause', 'p2'));
      stage.at(10_000, command('pause', 'p1'));
    },
    bug: PAUSE_LOST,
  },
  {
    name: 'set-while-waiting',
    about: 'The outbox gets another text while a message waits.',
    scenario: scenario({ campaigns: [], outbox }),
    script(stage) {
      stage.at(1_000, () => stage.producer.put('m0', 1, 3));
      stage.at(2_000, () => stage.producer.set());
    },
    bug: {
      name: 'a change of settings is acknowledged, but not stored',
      invariant: 13,
      why: 'the message is sent with the earlier text',
      lua: [
        {
          file: 'intake/outbox/messages/change-outbox.lua',
          from: 'local function change()\n',
          to: "local function change()\n  if true then return 'changed' end\n",
        },
      ],
    },
  },
  {
    name: 'overtaken-put',
    about: 'A put of version 1 arrives after that of version 2.',
    scenario: scenario({ campaigns: [], outbox }),
    script(stage) {
      stage.at(1_000, () => stage.producer.put('m0', 2, 3));
      stage.at(2_000, () => stage.producer.put('m0', 1, 3));
    },
    bug: {
      name: 'a put with an older version changes a message',
      invariant: 13,
      why: 'a change that was overtaken undoes the later one',
      lua: [
        {
          file: 'intake/outbox/messages/put-messages.lua',
          from: "if m.version >= 0 and m.version < before.version then return 'stale' end",
          to: '',
        },
      ],
    },
  },
  {
    name: 'put-again-after-its-cancel',
    seeds: [700849],
    about:
      'A message is cancelled, and put again. The results of that day, which no message has any more, are forgotten all the same.',
    scenario: scenario({ campaigns: [], outbox }),
    script(stage) {
      stage.checksRemoval = true;
      stage.at(1_000, () => stage.producer.put('m0', 1, 3_000));
      stage.at(2_000, () => stage.producer.cancel('m0', 2));
      stage.at(3_000, () => stage.producer.put('m0', 3, 1));
    },
    bug: {
      name: 'the results of a day are not forgotten',
      invariant: 10,
      why: 'their list, and its place in the log of results, stay in Redis',
      lua: [
        {
          file: 'engine/recipients/outbox.lua',
          from: "redis.call('ZADD', OUTBOX.key(c, ':due'), string.format('-%.0f', (tonumber(day) + 1) * OUTBOX.DAY_MS), OUTBOX.LIST .. day)",
          to: '',
        },
      ],
    },
  },
  {
    name: 'set-while-in-flight',
    about: 'The outbox gets another text after a message was claimed, and before its request.',
    scenario: scenario({ campaigns: [], outbox }),
    script(stage) {
      stage.delay('p1', 'confirm-claim', 4_000);
      stage.at(1_000, () => stage.producer.put('m0', 1, 2));
      stage.at(4_000, () => stage.producer.set());
    },
    bug: {
      name: 'the edition of a claim is not checked right before its request',
      invariant: 13,
      why: 'a message is sent with the earlier text after the change was confirmed',
      lua: [
        {
          file: 'engine/claim/confirm-claim.lua',
          from: 'local isCurrent = claim.again',
          to: 'local isCurrent = true or claim.again',
        },
      ],
    },
  },
  {
    name: 'late-ahead-of-others',
    about: 'A message becomes too late while its outbox is paused, and another one is due behind it.',
    scenario: scenario({ campaigns: [], outbox: { ...outbox, lateMs: 3_000 } }),
    script(stage) {
      stage.at(500, () => stage.producer.command('pause'));
      stage.at(1_000, () => stage.producer.put('m0', 1, 1));
      stage.at(1_500, () => stage.producer.put('m1', 1, 8));
      stage.at(7_000, () => stage.producer.command('resume'));
    },
    bug: {
      name: 'a message that has lapsed blocks those behind it',
      invariant: 0,
      why: 'nothing of the outbox is sent any more',
      lua: [
        {
          file: 'engine/store/due-messages.lua',
          from: 'elseif lapsesAt <= now then',
          to: 'elseif false then',
        },
        {
          file: 'engine/store/due-messages.lua',
          from: "      if m then OUTBOX.finish(lane, c, m, 'lapsed', now) end\n    else\n",
          to: "      redis.call('ZADD', due, OUTBOX.due_at(m), id)\n      return nil\n    else\n",
        },
      ],
    },
  },
  {
    name: 'put-lost-after-its-claim',
    about:
      'Redis loses a put, and the claim of its message, although it was said to lose less. The process that sent it stores it again. Then another message is put.',
    scenario: scenario({ lanes: [CORRELATED], campaigns: [], outbox, lossMs: 1_000, chaosMs: 30_000 }),
    script(stage) {
      stage.at(900, () => stage.faults.forget(3_000));
      stage.at(1_000, () => stage.producer.put('m0', 1, 0));
      stage.at(15_000, () => stage.producer.put('m1', 1, 1));
    },
    bug: {
      name: 'the number of a message is used again after a loss',
      invariant: 4,
      why: 'the service takes the other message for a repeat of the first one',
      lua: [
        {
          file: 'engine/recipients/outbox.lua',
          from: 'if (c.losses or 0) ~= lane.losses then',
          to: 'if false then',
        },
      ],
    },
  },
  {
    name: 'replay-of-an-earlier-message',
    about:
      'The request of a message does not leave. It is cancelled, and its id put again. Then Redis loses something else, and the process repeats what it did with the first message.',
    scenario: scenario({ campaigns: [], outbox, lossMs: 2_000, chaosMs: 30_000 }),
    script(stage) {
      stage.fates('send', { kind: 'refused' });
      stage.at(1_000, () => stage.producer.put('m0', 1, 3));
      // It is not claimed again at once.
      stage.at(4_011, () => stage.producer.command('pause'));
      stage.at(4_200, () => stage.producer.cancel('m0', 2));
      stage.at(4_300, () => stage.producer.put('m0', 3, 12));
      stage.at(4_500, () => stage.faults.forget(500));
      stage.at(10_000, () => stage.producer.command('resume'));
    },
    bug: {
      name: 'a settlement may be that of an earlier message under the id',
      invariant: 4,
      why: 'the message that waits counts as sent',
      lua: [
        {
          file: 'engine/recovery/replay-claim.lua',
          from: 'elseif m.number ~= first then',
          to: 'elseif false then',
        },
      ],
    },
  },
  {
    name: 'put-and-claim-lost',
    about:
      'Redis loses a put that was just stored, and its process dies. The platform puts the message again, because it got no answer.',
    scenario: scenario({ campaigns: [], outbox, lossMs: 2_000, chaosMs: 30_000 }),
    script(stage) {
      stage.at(900, () => stage.faults.forget(1_500));
      stage.at(1_000, () => stage.producer.put('m0', 1, 0));
      // Its turn looks for what may be claimed.
      stage.at(1_200, () => stage.sweep('p1'));
      stage.at(2_350, () => stage.faults.kill(stage.process('p1'), 20_000));
      stage.at(2_350, () => stage.faults.kill(stage.process('p2'), 20_000));
      stage.at(12_000, () => stage.producer.put('m0', 1, 0));
    },
    bug: {
      name: 'a put is claimed while it may still be lost',
      invariant: 13,
      why: 'the message is stored and sent again when it is put again',
      lua: [
        {
          file: 'engine/recipients/outbox.lua',
          from: 'lane.mayLoseMs > 0 and now + lane.mayLoseMs or 0',
          to: '0',
        },
      ],
    },
  },
  {
    name: 'late-while-recovering',
    about:
      'Redis loses the claim of a message that was sent, and its process is suspended. The message becomes too late before the lane knows what was claimed.',
    scenario: scenario({
      campaigns: [],
      outbox: { ...outbox, lateMs: 4_000 },
      lossMs: 2_000,
      chaosMs: 30_000,
    }),
    script(stage) {
      stage.at(1_000, () => stage.producer.put('m0', 1, 5));
      stage.at(5_500, () => stage.faults.forget(1_500));
      stage.at(6_500, () => stage.faults.stop(stage.process('p1'), 12_000, []));
    },
    bug: {
      name: 'a message lapses that may have been claimed',
      invariant: 4,
      why: 'it was sent, but counts as never sent',
      lua: [
        {
          file: 'engine/store/record.lua',
          from: 'return lane_is_recovering(lane) and dueAt < lane_lost_until(lane)',
          to: 'return false',
        },
      ],
    },
  },
];

/**
 * A put that Redis loses has no result (docs/redis.md), not even if a result of an earlier version was left out because of it. So no world
 * of a seed has both an outbox and a Redis that loses data.
 */
export const OPEN_OUTBOX_WORLDS: readonly OpenWorld[] = [
  {
    name: 'cancelled-put-lost',
    seeds: [469],
    about:
      'A platform reads that a message was cancelled, after it has put it again. Redis loses the new put, so that the message is cancelled after all.',
    scenario: scenario({ campaigns: [], outbox, lossMs: 2_000 }),
    script(stage) {
      stage.at(1_000, () => stage.producer.put('m0', 1, 3_000));
      stage.at(2_500, () => stage.producer.cancel('m0', 2));
      stage.at(3_000, () => stage.faults.forget(1_500));
      stage.at(3_100, () => stage.producer.put('m0', 3, 3_000));
      stage.at(3_500, () => stage.readResults());
    },
    violates: 11,
  },
];
