import { deliver } from '../../../src/reporting/webhooks/deliver.js';
import { campaign, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

const world = scenario({ campaigns: [campaign({ recipients: 3 })], hasEndpoint: true, chaosMs: 40_000 });

/** Worlds in which the processes that deliver events to a webhook are killed. */
export const WEBHOOK_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'killed-before-its-events',
    about: 'A process is killed when it has stored what an endpoint is to get, before its first request.',
    scenario: world,
    script(stage) {
      stage.after('p1', 'store-deliveries', () => stage.faults.kill(stage.process('p1'), 5_000));
    },
    bug: {
      name: 'the cursor of an endpoint moves without its deliveries',
      invariant: 16,
      why: 'what a process was about to send is lost with it',
      lua: [
        {
          file: 'reporting/webhooks/store-deliveries.lua',
          from: "redis.call('HSET', deliveriesKey, entry_arg(at), entry_arg(at + 1)) end",
          to: "redis.call('HLEN', deliveriesKey) end",
        },
      ],
    },
  },
  {
    name: 'killed-before-it-notes-the-answer',
    about:
      'An endpoint accepts events of a process that is killed before it notes that. Another process sends them again.',
    scenario: world,
    script(stage) {
      stage.delay('p1', 'settle-delivery', 10_000, 1);
      stage.at(4_000, () => stage.faults.kill(stage.process('p1'), 5_000));
    },
    bug: {
      name: 'each request has an id of its own',
      invariant: 16,
      why: 'the endpoint takes a repeat for something new',
      parts: {
        deliver: (deps, id, options) => {
          const { poster } = deps;
          const post: typeof poster.post = (url, headers, body) =>
            poster.post(url, { ...headers, 'webhook-id': `${deps.random()} ${deps.clock()}` }, body);
          return deliver({ ...deps, poster: { ...poster, post } }, id, options);
        },
      },
    },
  },
];
