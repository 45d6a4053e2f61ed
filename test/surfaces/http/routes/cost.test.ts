import { expect, test } from 'vitest';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api, storedKeys } = scene('http-cost');
const { call } = await api({ PRICE_PER_SEGMENT: '0.042 EUR' });

let created = 0;
const campaign = (more: object = {}) => {
  created += 1;
  return {
    recipients: [{ to: '+447700900123' }, { to: '+447700900124' }, { to: '+447700900123' }],
    message: `Hi ${created}`,
    sendAt: '2999-01-01T00:00:00Z',
    ...more,
  };
};
const post = (path: string, body: unknown) => call('POST', path, { body });

test('A campaign that costs more than maxCost is refused with 422 and both amounts, and nothing is stored', async () => {
  for (const maxCost of [0.05, '0.05', '0.05 EUR']) {
    expect(await post('/v1/campaigns', campaign({ maxCost }))).toMatchObject({
      status: 422,
      json: {
        code: 'overBudget',
        detail:
          'The campaign costs 0.084 EUR, which is more than the limit of 0.05 EUR. Nothing was sent. Raise `maxCost`, or shorten the list or the text.',
        errors: [{ pointer: '/maxCost' }],
        total: '0.084',
        maxCost: '0.05',
        currency: 'EUR',
      },
    });
  }
  const form = campaignForm(
    { message: 'Hi', sendAt: '2999-01-01T00:00:00Z', maxCost: 0.01 },
    'phone\n+447700900123\n',
  );
  expect(await call('POST', '/v1/campaigns', { form })).toMatchObject({
    status: 422,
    json: { code: 'overBudget' },
  });
  expect(await storedKeys()).toEqual([]);
});

test('The preview, the new campaign, its status, and its recipients show the cost', async () => {
  const body = campaign({ maxCost: 0.084 });
  const cost = { total: '0.084', currency: 'EUR', maxCost: '0.084', unpriced: 0, unpricedRows: [] };
  expect(await post('/v1/preview', body)).toMatchObject({ status: 200, json: { cost, refusal: null } });
  expect(await post('/v1/preview', { ...body, maxCost: 0 })).toMatchObject({
    json: { refusal: { code: 'overBudget', campaign: null } },
  });
  const reply = await post('/v1/campaigns', body);
  expect(reply).toMatchObject({ status: 201, json: { cost } });
  const { id } = reply.json as { id: string };
  const so = { total: '0.084', accepted: '0.00', currency: 'EUR', unpriced: 0 };
  expect(await call('GET', `/v1/campaigns/${id}`)).toMatchObject({ json: { cost: so } });
  expect(await call('GET', `/v1/campaigns/${id}/recipients`)).toMatchObject({ json: { cost: so } });
});

test('A schedule whose campaign costs more than its maxCost is refused when it is added', async () => {
  const { sendAt: _, ...rest } = campaign();
  const schedule = {
    id: 'weekly',
    cron: '0 9 * * 1',
    zone: 'UTC',
    ...rest,
    recipients: rest.recipients.slice(0, 2),
  };
  expect(await post('/v1/schedules', { ...schedule, maxCost: 0.05 })).toMatchObject({
    status: 400,
    json: {
      errors: [{ pointer: '/maxCost' }],
      detail: expect.stringMatching(/costs 0\.084 EUR, which is more than the limit of 0\.05 EUR/),
    },
  });
  expect(await post('/v1/schedules', { ...schedule, maxCost: '0.1 EUR' })).toMatchObject({
    status: 201,
    json: { campaign: { maxCost: '0.1 EUR' } },
  });
});
