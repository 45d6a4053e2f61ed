import { setTimeout as delay } from 'node:timers/promises';
import { between, oneOf, type Scenario } from '../scenario.js';
import { ON_THE_WIRE } from '../world.js';
import { targetOf } from './processes.js';

const notifyKill: Scenario = {
  name: 'notify-kill',
  does: 'the service notifies; the process that is told, and those that send, are killed, and answers are lost',
  workers: ['all', 'all', 'http'],
  seconds: 20,
  async run({ fleet, recorder, random, senders, traffic, linksOf }) {
    for (let times = 0; times < 4; times += 1) {
      // What is to be told needs somebody to tell it to.
      await fleet.ready();
      await traffic(2);
      const sender = oneOf(senders, random);
      // What was accepted and not answered is told of by its notification alone.
      await recorder.fault(
        { fault: 'cut', target: targetOf(sender), forgets: false, mayLeave: ON_THE_WIRE },
        async () => linksOf(sender).service.cut(),
      );
      await delay(between(0, 3_000, random));
      const told = fleet.members.filter(({ kind }) => kind === 'http');
      const victim = oneOf(times % 2 === 0 ? told : senders, random);
      const mayLeave = victim.kind === 'http' ? 0 : ON_THE_WIRE;
      await recorder.fault({ fault: 'SIGKILL', target: targetOf(victim), forgets: false, mayLeave }, () =>
        fleet.kill(victim),
      );
    }
    await fleet.ready();
  },
};

const notifyRedis: Scenario = {
  name: 'notify-redis',
  does: 'the service notifies; Redis is killed while the process that is told holds what it was told',
  workers: ['all', 'all', 'http'],
  seconds: 10,
  async run({ redis, recorder, random, traffic }) {
    await traffic(3);
    for (let times = 0; times < 3; times += 1) {
      await delay(between(500, 2_500, random));
      await recorder.fault(
        { fault: 'kill', target: 'redis', forgets: false, mayLeave: ON_THE_WIRE },
        async () => {
          await redis.kill();
          await delay(between(0, 2_000, random));
          await redis.restart();
        },
      );
    }
  },
};

export const NOTIFICATION_SCENARIOS: readonly Scenario[] = [notifyKill, notifyRedis];
