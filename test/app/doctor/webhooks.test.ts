import { expect, test } from 'vitest';
import { checkWebhooks } from '../../../src/app/doctor/webhooks.js';
import type { Webhook } from '../../../src/campaign/views/webhook-views.js';

const WEBHOOK: Webhook = {
  id: 'w1',
  url: 'https://shop.example/volley',
  lanes: null,
  events: null,
  outboxes: null,
  tags: null,
  key: '0123456789ab',
  state: 'disabled',
  disabledBecause: 'gone',
  createdAt: '2030-01-01T00:00:00.000Z',
  createdBy: { kind: 'key', id: '0123456789ab', name: 'shop' },
  oldSecretUntil: null,
  deliveredCount: 0,
  resultCount: 0,
  waitingCount: 0,
  failedCount: 0,
  removedCount: 0,
  lastDeliveredAt: null,
  failingSince: null,
  lastError: null,
};

test.each([
  ['gone', 'Fix the receiver, then: volley webhook enable w1'],
  ['failing', 'Fix the receiver, then: volley webhook enable w1'],
  ['keyRevoked', 'Give it to another key: volley webhook assign w1 --key KEY'],
] as const)('The doctor says what to do about a webhook that is disabled (%s)', (disabledBecause, advice) => {
  expect(checkWebhooks([{ ...WEBHOOK, disabledBecause }], 0)).toEqual([
    expect.objectContaining({ state: 'fail', advice }),
  ]);
});
