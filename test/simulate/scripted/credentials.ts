import type { Redis } from '../../../src/base/redis/connection.js';
import type { ScriptArgument } from '../../../src/base/redis/script.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import { createTokenCache } from '../../../src/service/auth/token-cache.js';
import { accountLane, campaign, config, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** A connection on which no script is repeated: the errors of Redis look like faults of the program. */
function unrepeated(redis: Redis): Redis {
  const evalsha = async (hash: string, keys: number, ...args: ScriptArgument[]): Promise<unknown> => {
    try {
      return await redis.evalsha(hash, keys, ...args);
    } catch (error) {
      throw new TypeError(error instanceof Error ? error.message : String(error));
    }
  };
  return new Proxy(redis, {
    get(target, name) {
      const member: unknown = name === 'evalsha' ? evalsha : Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

/** Worlds in which tokens expire and are refused. */
export const CREDENTIAL_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'refused-token-while-waiting',
    seeds: [4342],
    about:
      'The service refuses an expired token. Until the next permit, the lane is woken twice more. Only the next request renews the token.',
    scenario: scenario({
      config: config({ windowMs: 3_600_000 }),
      lanes: [accountLane({ settings: { hourlyQuota: 1 } })],
      campaigns: [
        campaign({ recipients: 3 }),
        campaign({ committedAt: 8_000_000 }, 1),
        campaign({ committedAt: 9_000_000 }, 2),
      ],
    }),
    bug: {
      name: 'a lane that waits for permits renews a refused token in every turn',
      invariant: 6,
      why: 'the account service sees a refresh for each turn',
      parts: {
        send: (lane, sending, options) => {
          const { tokens } = sending;
          return sendTurn(lane, { ...sending, tokens: { ...tokens, get: tokens.getForRequest } }, options);
        },
      },
    },
  },
  {
    name: 'late-stop',
    about:
      'A process finds its account refused. Its command to stop the lane reaches Redis after an operator has fixed the account and resumed the lane.',
    scenario: scenario({
      lanes: [accountLane({ tokenLifeMs: 20_000 })],
      campaigns: [campaign(), campaign({ committedAt: 25_000 }, 1)],
      chaosMs: 60_000,
      refusal: { lane: 'lane0', at: 21_000, rounds: 1, status: 401 },
    }),
    bug: {
      name: 'a command to stop the lane ignores the epoch',
      invariant: 9,
      why: 'a late command undoes the fix of an operator',
      lua: [
        {
          file: 'engine/lane/command-lane.lua',
          from: 'if not GATE.stopped(lane, epoch, reason) then return 0 end',
          to: 'lane.closed.stopped = { why = reason, since = lane.time }',
        },
      ],
    },
  },
  {
    name: 'refused-before-the-fix',
    seeds: [1828, 2699, 5702],
    about:
      'A login is refused. Before its process hears of that, an operator corrects the password, so that the next login succeeds. From then on, the password may be refused twice again.',
    scenario: scenario({
      lanes: [accountLane({ tokenLifeMs: 3_600_000 })],
      campaigns: [campaign(), campaign({ committedAt: 10_000 }, 1), campaign({ committedAt: 30_000 }, 2)],
      chaosMs: 60_000,
    }),
    script(stage) {
      stage.at(5_000, () => stage.accountOf('lane0').block());
      stage.at(10_017, () => stage.faults.stop(stage.process('p1'), 1_000, []));
      stage.at(10_500, () => stage.accountOf('lane0').correctPassword());
      stage.at(25_000, () => stage.accountOf('lane0').block());
    },
    bug: {
      name: 'a password may be refused once more than it should',
      invariant: 6,
      why: 'the service may block the account',
      lua: [
        {
          file: 'service/auth/login-attempt.lua',
          from: "if numberOf('counted') >= rules.limit then stop(code, detail) end",
          to: "if numberOf('counted') > rules.limit then stop(code, detail) end",
        },
      ],
    },
  },
  {
    name: 'clock-set-during-a-login',
    seeds: [33899],
    about:
      'A password that was good is refused twice. Before p1 has reported the second time, the clock is set forward, so that this attempt seems overdue. p2 takes over the lane.',
    scenario: scenario({
      lanes: [accountLane({ tokenLifeMs: 3_600_000 })],
      campaigns: [campaign(), campaign({ committedAt: 10_000 }, 1)],
      chaosMs: 60_000,
    }),
    script(stage) {
      stage.at(5_000, () => stage.accountOf('lane0').block());
      const setClock = (): void => {
        stage.in(4, () => stage.faults.stop(stage.process('p1'), 1_000, []));
        stage.in(5, () => stage.faults.loseLocks(stage.process('p1')));
        stage.in(5, () => stage.faults.setClock(7_200_000, () => undefined));
      };
      stage.after('p1', 'login-attempt', setClock, 4);
      stage.delay('p1', 'login-attempt', 1_000, 5);
    },
    bug: {
      name: 'an attempt that is found overdue delays the next one from when it began',
      invariant: 6,
      why: 'the service refuses a third login',
      lua: [
        {
          file: 'service/auth/login-attempt.lua',
          from: 'now + math.max(leastMs, rules.delays[math.min(step, #rules.delays)])',
          to: "(leastMs > 0 and numberOf('pendingSince') or now) + rules.delays[math.min(step, #rules.delays)]",
        },
      ],
    },
  },
  {
    name: 'refusal-while-full',
    seeds: [2007387, 2007473, 2008450],
    about:
      'A password that was good is refused while Redis is full, so that nothing can count it. After that, it may be tried only once more.',
    scenario: scenario({
      lanes: [accountLane({ tokenLifeMs: 3_600_000 })],
      campaigns: [campaign(), campaign({ committedAt: 10_000 }, 1)],
      chaosMs: 60_000,
    }),
    script(stage) {
      stage.at(5_000, () => stage.accountOf('lane0').block());
      // The refresh is refused, and the next login is counted before it leaves.
      stage.after('p1', 'login-attempt', () => stage.faults.fill(3_000), 2);
    },
    bug: {
      name: 'a refused login that Redis does not take is not counted later',
      invariant: 6,
      why: 'it is taken for one without an answer, and the password is tried a third time',
      parts: {
        tokenCache: (options) => createTokenCache({ ...options, redis: unrepeated(options.redis) }),
      },
    },
  },
  {
    name: 'success-reported-twice',
    seeds: [50908],
    about:
      'A login succeeds, and the reply to its report gets lost. Before its process reports it again, the password is refused. It may be tried only once more.',
    scenario: scenario({
      lanes: [accountLane({ tokenLifeMs: 3_600_000 })],
      campaigns: [campaign()],
      chaosMs: 60_000,
    }),
    script(stage) {
      stage.after(
        'p1',
        'login-attempt',
        () => {
          stage.accountOf('lane0').block();
          stage.faults.cut(stage.process('p1'), 50);
          // Its reply is lost, and so is its job, which p2 takes.
          stage.faults.stop(stage.process('p1'), 20, []);
          stage.faults.loseLocks(stage.process('p1'));
          stage.delay('p1', 'login-attempt', 1_500);
        },
        1,
      );
      // Between the first refusal and the next login, the report of the success arrives again.
      stage.after('p2', 'login-attempt', () => stage.faults.stop(stage.process('p2'), 3_000, []), 1);
    },
    bug: {
      name: 'a success that is reported again opens the login budget again',
      invariant: 6,
      why: 'a refusal that was counted since is forgotten',
      lua: [
        {
          file: 'service/auth/login-attempt.lua',
          from: "if state == 'settled' or not",
          to: "if state == 'settled' and phase == 'proven' then reopen(0) end\n  if state == 'settled' or not",
        },
      ],
    },
  },
  {
    name: 'success-after-a-refusal',
    seeds: [51782],
    about:
      'A machine is suspended during a login that succeeds. By the time it reports that, the password has been refused once. It may be tried only once more.',
    scenario: scenario({
      lanes: [accountLane({ tokenLifeMs: 3_600_000 })],
      campaigns: [campaign(), campaign({ committedAt: 10_000 }, 1), campaign({ committedAt: 11_000 }, 2)],
      chaosMs: 60_000,
    }),
    script(stage) {
      stage.at(5_000, () => stage.accountOf('lane0').block());
      // A refresh is refused, and p1 is about to log in. Its request leaves right before it is suspended.
      stage.after(
        'p1',
        'login-attempt',
        () => {
          stage.accountOf('lane0').correctPassword();
          stage.in(2, () => stage.faults.stop(stage.process('p1'), 20_000, ['monotonic']));
        },
        2,
      );
      stage.at(17_000, () => stage.accountOf('lane0').block());
      stage.at(17_000, () => stage.faults.setClock(7_200_000));
      // Between the first refusal and the next login, p1 reports its success.
      stage.at(27_272, () => stage.faults.stop(stage.process('p2'), 8_000, []));
    },
    bug: {
      name: 'a success that is reported late takes back refusals that were counted since',
      invariant: 6,
      why: 'the password is tried a third time',
      lua: [
        {
          file: 'service/auth/login-attempt.lua',
          from: "forgiveSilent()\n    clear('step'",
          to: "reopen(0)\n    clear('step'",
        },
      ],
    },
  },
];
