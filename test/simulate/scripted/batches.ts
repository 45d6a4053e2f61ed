import { sendTurn } from '../../../src/engine/sending/send.js';
import { campaign, config, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

const DEDUPLICATES = {
  hourlyQuota: 3,
  maxRecipientsPerRequest: 5,
  clientCorrelator: { deduplicatesForMs: 24 * 3_600_000 },
};

/** Worlds in which a batch is sent again, in part or whole. */
export const BATCH_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'suppressed-before-the-repeat',
    seeds: [2004153],
    about:
      'A request of five gets no response, as often as the quota admits. Two of its recipients are suppressed before it is repeated under its correlator, which names all five.',
    scenario: scenario({
      config: config({ isNotified: true }),
      lanes: [lane({ settings: DEDUPLICATES })],
      campaigns: [
        campaign({ recipients: 5 }),
        campaign({ id: 'c01', recipients: 2, committedAt: 4_029, suppressed: new Set([0, 1]) }),
      ],
    }),
    script(stage) {
      stage.fates('send', { kind: 'reset' }, { kind: 'reset' }, { kind: 'reset' });
    },
    bug: {
      name: 'a batch is repeated without those who were suppressed meanwhile',
      invariant: 2,
      why: 'the correlator names another request, and the service sends the messages a second time',
      parts: {
        send: (lane, sending, options) => {
          const { claims } = sending;
          const take: typeof claims.take = async (call) => {
            const reply = await claims.take(call);
            return { ...reply, claims: reply.claims.map(({ again: _, ...claim }) => claim) };
          };
          return sendTurn(lane, { ...sending, claims: { ...claims, take } }, options);
        },
      },
    },
  },
  {
    name: 'known-correlator-refused',
    seeds: [],
    about:
      'A request of five is accepted, and its response is lost. The service answers 400 to the repeat, because it knows the correlator.',
    scenario: scenario({
      lanes: [lane({ settings: DEDUPLICATES, knows: 400 })],
      campaigns: [campaign({ recipients: 5 })],
    }),
    script(stage) {
      stage.fates('send', { kind: 'resetAfter' });
    },
    bug: {
      name: 'a batch whose repeat is refused is halved',
      invariant: 2,
      why: 'the halves have correlators that the service does not know, so it sends their messages again',
      lua: [
        {
          file: 'engine/sending/settle-send.lua',
          from: "if claim.again and (claim.again == 'underCorrelator' or claim.count == 1 or c.remainder ~= 'planned') then",
          to: "if claim.again == 'underCorrelator' then claim.again = nil end if false then",
        },
      ],
    },
  },
];
