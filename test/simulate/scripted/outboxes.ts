import { OUTBOX } from '../lane-state.js';
import type { OutboxPlan } from '../scenario.js';
import { scenario } from './scenario.js';
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

const PAUSED_PLANS: ScriptedWorld['bug'] = {
  name: 'a paused outbox plans messages',
  invariant: 8,
  why: 'they are sent after pause has returned',
  lua: [
    {
      file: 'intake/outbox/waves/tend-outbox.lua',
      from: "if plans == 1 and opensAt == 0 and outbox[1] ~= 'paused' and not isPaused then",
      to: 'if plans == 1 and opensAt == 0 then',
    },
  ],
};

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
    bug: PAUSED_PLANS,
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
    bug: PAUSED_PLANS,
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
          from: "redis.call('HSET', outboxKey, 'settings', settings, 'edition', edition,",
          to: "redis.call('HSET', outboxKey,",
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
          from: "if version >= 0 and version < versionBefore then return 'stale' end",
          to: '',
        },
      ],
    },
  },
  {
    name: 'put-again-after-its-cancel',
    seeds: [700849],
    about:
      'A message is cancelled, and put again. Nothing else is in the list of messages that are to be forgotten with it, which is removed all the same.',
    scenario: scenario({ campaigns: [], outbox }),
    script(stage) {
      stage.checksRemoval = true;
      stage.at(1_000, () => stage.producer.put('m0', 1, 3_000));
      stage.at(2_000, () => stage.producer.cancel('m0', 2));
      stage.at(3_000, () => stage.producer.put('m0', 3, 1));
    },
    bug: {
      name: 'a list of ended messages is removed only with one of them',
      invariant: 10,
      why: 'the list, and its place in the log of results, stay in Redis',
      lua: [
        {
          file: 'intake/outbox/messages/ended.lua',
          from: "redis.call('ZADD', keys.due, '-' .. second, MESSAGE.LIST .. second)",
          to: '',
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
