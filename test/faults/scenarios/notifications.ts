import { setTimeout as delay } from 'node:timers/promises';
import { integerBetween, pick, type Scenario } from '../scenario.js';
import { MAX_IN_FLIGHT } from '../world.js';
import { targetOf } from './processes.js';

const notifyKill: Scenario = {
  name: 'notify-kill',
  description:
    'the service sends notifications; the HTTP process and the senders are killed, and responses are lost',
  workers: ['all', 'all', 'http'],
  seconds: 20,
  async run({ fleet, recorder, random, senders, traffic, proxiesOf }) {
    for (let times = 0; times < 4; times += 1) {
      // The HTTP process must be up before the notifications are sent.
      await fleet.ready();
      await traffic(2);
      const sender = pick(senders, random);
      // Requests that lose their response are confirmed only by their notifications.
      await recorder.fault(
        { fault: 'cut', target: targetOf(sender), losesData: false, mayBeUnknown: MAX_IN_FLIGHT },
        async () => proxiesOf(sender).service.cut(),
      );
      await delay(integerBetween(0, 3_000, random));
      const receivers = fleet.members.filter(({ kind }) => kind === 'http');
      const victim = pick(times % 2 === 0 ? receivers : senders, random);
      const mayBeUnknown = victim.kind === 'http' ? 0 : MAX_IN_FLIGHT;
      await recorder.fault(
        { fault: 'SIGKILL', target: targetOf(victim), losesData: false, mayBeUnknown },
        () => fleet.kill(victim),
      );
    }
    await fleet.ready();
  },
};

const notifyRedis: Scenario = {
  name: 'notify-redis',
  description: 'the service sends notifications; Redis is killed while the HTTP process holds some of them',
  workers: ['all', 'all', 'http'],
  seconds: 10,
  async run({ redis, recorder, random, traffic }) {
    await traffic(3);
    for (let times = 0; times < 3; times += 1) {
      await delay(integerBetween(500, 2_500, random));
      await recorder.fault(
        { fault: 'kill', target: 'redis', losesData: false, mayBeUnknown: MAX_IN_FLIGHT },
        async () => {
          await redis.kill();
          await delay(integerBetween(0, 2_000, random));
          await redis.restart();
        },
      );
    }
  },
};

export const NOTIFICATION_SCENARIOS: readonly Scenario[] = [notifyKill, notifyRedis];
