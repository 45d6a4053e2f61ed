import { randomUUID } from 'node:crypto';
import type { Redis } from '../../../src/base/redis/connection.js';
import type { Operator } from '../../../src/campaign/states/audit.js';
import { confirmClaim } from '../../../src/engine/claim/claims.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import { campaignContent } from '../../../src/engine/sending/campaign-content.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import type { SendClaim, SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import {
  type CampaignChanges,
  type ChangeCampaignOptions,
  setCampaign,
} from '../../../src/intake/changes/set-campaign.js';
import type { CampaignInput } from '../../../src/intake/import/campaign-input.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { OPERATOR } from '../../app/access/operator.js';
import { importFixture, mobile } from '../import/import-fixture.js';

/** Three recipients with a name, one after the other. */
export const PEOPLE = ['Ada', 'Bo', 'Cy'].map((name, at) => ({ to: mobile(at), name, city: 'Ulm' }));

/** A lane on a real Redis, with campaigns that are imported, changed, and claimed as by processes. No worker runs. */
export function changeFixture(
  redis: Redis,
  prefix: string,
  environment: Record<string, string> = {},
  rules: Partial<ScriptRules> = {},
) {
  const { deps, keys, config, lanes } = importFixture(
    redis,
    `${prefix}-${randomUUID().slice(0, 8)}`,
    environment,
  );
  const [opened] = lanes.values();
  if (opened === undefined) throw new Error('no lane');
  const lane: typeof opened = { ...opened, rules: { ...opened.rules, ...rules } };
  const claims = sendClaims(lane);
  const content = campaignContent(lane);
  const messages = openMessages(lane, content, {
    areSuppressed: async (numbers) => numbers.map(() => false),
    isOnlyBy: async () => false,
    lastRemoval: async () => 0,
  });
  const turn = randomUUID();
  let call = 0;
  let waitedMs = 0;
  const own = {
    redis,
    keys,
    lane,
    deps,
    /** Called when a change waits. */
    waits: async (): Promise<void> => {},
    waitedMs: () => waitedMs,
    /** Creates a campaign to {@link PEOPLE}, and returns its id. */
    async create(input: Partial<CampaignInput> = {}): Promise<string> {
      const created = await importCampaign(deps, { message: 'Hi {{name}}', recipients: PEOPLE, ...input });
      if (created.outcome === 'refused') throw new Error(created.message);
      return created.id;
    },
    set: (
      id: string,
      changes: CampaignChanges,
      options: ChangeCampaignOptions & { readonly by?: Operator; readonly keyBytes?: number } = {},
    ) =>
      setCampaign(
        {
          ...{ redis, keys, clock: Date.now, by: options.by ?? OPERATOR },
          config: { ...config, keyBytes: options.keyBytes ?? config.keyBytes },
          finder: { of: async () => lane },
          wakers: { wake: async () => {} },
          alarm: (ms, ring) => {
            waitedMs += ms;
            own.waits().then(ring, ring);
            return () => {};
          },
        },
        id,
        changes,
        { revision: options.revision, preview: options.preview },
      ),
    async claim(want = 10): Promise<readonly SendClaim[]> {
      call += 1;
      return (await claims.take({ turn, call, want })).claims;
    },
    confirm: (claim: SendClaim) => confirmClaim(lane, 'send', claim),
    settle: (
      some: readonly SendClaim[],
      result: SendSettlement['result'],
      { letter = 'N', ...more }: Partial<SendSettlement> & { readonly letter?: string } = {},
    ) =>
      claims.settle(
        some.map((claim) => ({
          claim,
          result,
          letters: letter.repeat(claim.count),
          requestId: `r${claim.first}`,
          ...more,
        })),
      ),
    /** What is sent for these claims: `sender: text`. */
    async texts(some: readonly SendClaim[]): Promise<string[]> {
      return (await messages.render(some)).map((message) => {
        if (message === undefined || message instanceof Error)
          throw new Error('not rendered', { cause: message });
        return `${message.sender}: ${message.text}`;
      });
    },
    async resend(): Promise<void> {
      const unknown = await listUnknown(lane);
      await resolveBatches(lane, 'resend', 'the operator', unknown, Date.now() + 600_000);
    },
    async meta(id: string) {
      const meta = await readMeta(redis, keys, lane.id, id);
      if (meta === null) throw new Error('no meta');
      return meta;
    },
    async state(id: string) {
      const state = await readState(redis, keys, lane.id, id);
      if (state === null) throw new Error('no state');
      return state;
    },
  };
  return own;
}
