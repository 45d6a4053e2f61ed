import { expect, test } from 'vitest';
import type { AuditEntry } from '../../../../src/campaign/states/audit.js';
import { scene } from '../../../scene/scene.js';

const { api, prefix } = scene('http-audit', { lanes: ['main', 'other'] });
const { call, key, volley, log, origin } = await api();

const campaign = (lane: string) => ({
  recipients: [{ to: '+447700900123' }],
  message: `Hi ${lane} ${Math.random()}`,
  lane,
  sendAt: '2999-01-01T00:00:00Z',
});
const create = async (own: string, lane: string): Promise<string> => {
  const { json } = await call('POST', '/v1/campaigns', { key: own, body: campaign(lane) });
  return (json as { id: string }).id;
};
/** Without the counts of refused requests, which arrive when a minute of the clock ends: in the middle of any test. */
const trail = async (own?: string, query = ''): Promise<AuditEntry[]> => {
  const { json } = await call('GET', `/v1/audit${query}`, { key: own });
  return (json as { entries: AuditEntry[] }).entries.filter(({ action }) => action !== 'request.refused');
};

test('The trail, the events, and the campaign name the key that asked for an operation', async () => {
  const own = await key();
  const id = await create(own, 'main');
  const actor = { kind: 'key', id: own.split('_')[1], name: 'a test' };
  for (const command of ['pause', 'resume', 'cancel']) {
    expect((await call('POST', `/v1/campaigns/${id}/${command}`, { key: own })).status).toBe(200);
  }
  for (const path of ['main/hold', 'main/resume']) await call('POST', `/v1/lanes/${path}`, { key: own });
  const entries = (await trail(own)).filter((entry) => entry.actor?.id === actor.id);
  const expected = ['lane.resume', 'lane.hold', 'campaign.cancel', 'campaign.resume', 'campaign.pause'];
  expect(entries.map(({ action }) => action)).toEqual([...expected, 'campaign.create']);
  expect(entries.every((entry) => entry.lane === 'main' && entry.failed === null)).toBe(true);
  expect(entries.slice(2).map((entry) => entry.campaign)).toEqual([id, id, id, id]);
  for (const entry of entries) expect(entry.actor).toEqual(actor);
  expect(await volley.status(id)).toMatchObject({ createdBy: actor });
  for (const type of ['imported', 'paused', 'resumed', 'cancelled']) {
    const [line] = log.filter((each) => each.includes(`"campaign.${type}"`) && each.includes(id));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ actor: `key ${actor.id} (a test)` });
  }
  expect(
    log.filter((line) => /"lane\.(held|reopened)"/.test(line) && line.includes(own.slice(3, 15))),
  ).toHaveLength(2);
});

test('A command that is refused because of the state, and a command for nothing, are not recorded', async () => {
  const own = await key();
  const id = await create(own, 'main');
  await call('POST', `/v1/campaigns/${id}/cancel`, { key: own });
  const before = (await trail(own)).length;
  expect((await call('POST', `/v1/campaigns/${id}/pause`, { key: own })).status).toBe(409);
  expect((await call('POST', '/v1/campaigns/nothing/pause', { key: own })).status).toBe(404);
  expect(await trail(own)).toHaveLength(before);
});

test('The scope status shows states without phone numbers', async () => {
  const own = await key(['status']);
  const id = await create(await key(), 'main');
  const lane = await volley.lanes();
  expect(lane.length).toBe(2);
  await volley.as({ kind: 'library', id: null, name: 'a call to +447700900456' }).pause(id);
  const { status, json } = await call('GET', `/v1/campaigns/${id}`, { key: own });
  expect([status, json]).toMatchObject([200, { id, state: 'paused' }]);
  expect((await volley.status(id)).blockedBy?.reason).toContain('+447700900456');
  expect((json as { blockedBy: { reason: string } }).blockedBy.reason).toBe(
    'paused by library a call to +44…456',
  );
  const named = await volley.enqueue({
    lane: 'main',
    message: 'for one',
    sender: '12345',
    recipients: [{ to: '+447700900456' }],
    idempotencyKey: 'order of +447700900456',
  });
  if (named.outcome !== 'created') throw new Error(named.outcome);
  const keyed = await call('GET', `/v1/campaigns/${named.id}`, { key: own });
  expect(keyed.json).toMatchObject({ idempotencyKey: 'order of +44…456' });
});

test('Revoking a key with its campaigns cancels those that it created and that have not ended', async () => {
  const [own, other] = [await key(), await key()];
  const [mine, paused, theirs] = [
    await create(own, 'main'),
    await create(own, 'other'),
    await create(other, 'main'),
  ];
  await volley.pause(paused);
  const { cancelled } = await volley.keys.revoke(own.split('_')[1] ?? '', { cancelCampaigns: true });
  expect([...cancelled].sort()).toEqual([mine, paused].sort());
  const states = await Promise.all([mine, paused, theirs].map(async (id) => (await volley.status(id)).state));
  expect(states).toEqual(['cancelled', 'cancelled', 'scheduled']);
  expect((await call('GET', '/v1/lanes', { key: own })).status).toBe(401);
});

test('Revoking a key with its campaigns also discards a list that is still arriving', async () => {
  const own = await key();
  let sendRest = (): void => {};
  const arriving = new Promise<void>((resolve) => {
    sendRest = resolve;
  });
  async function* list(): AsyncGenerator<{ to: string }> {
    yield { to: '+447700900123' };
    await arriving;
    yield { to: '+447700900124' };
  }
  const by = volley.as({ kind: 'key', id: own.split('_')[1] ?? '', name: 'a test' });
  const enqueued = by.enqueue({ recipients: list(), message: 'Hi', lane: 'main', sendAt: Date.now() + 9e9 });
  enqueued.catch(() => {});
  const importing = () => volley.list({ state: 'importing' });
  await expect.poll(async () => (await importing()).length).toBe(1);
  const [{ id } = { id: '' }] = await importing();
  expect(await volley.keys.revoke(own.split('_')[1] ?? '', { cancelCampaigns: true })).toEqual({
    cancelled: [id],
    emptied: [],
    shared: [],
  });
  sendRest();
  await expect(enqueued).rejects.toThrow('was discarded');
  await expect(volley.status(id)).rejects.toThrow('there is no campaign');
});

test('Bulk puts and exports leave entries', async () => {
  const own = await key();
  const id = await create(own, 'main');
  await call('POST', '/v1/outboxes', { key: own, body: { name: 'bulk', message: 'Hi', lane: 'main' } });
  const lines = Array.from({ length: 1_500 }, (_, at) =>
    JSON.stringify({ id: `m${at}`, to: '+447700900123' }),
  );
  const put = await fetch(`${origin}/v1/outboxes/bulk/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own}`, 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
  });
  expect((await put.text()).trim().split('\n')).toHaveLength(1_500);
  await call('GET', '/v1/outboxes/bulk/report', { key: own });
  await call('GET', `/v1/campaigns/${id}/report`, { key: own });
  await call('GET', '/v1/suppressions?lane=main', { key: own });
  const entries = (await trail(own)).filter((entry) => entry.actor?.id === own.split('_')[1]);
  expect(entries.slice(0, 5)).toMatchObject([
    { action: 'suppression.export', lane: 'main' },
    { action: 'campaign.export', lane: 'main', campaign: id },
    { action: 'outbox.export', lane: 'main', details: { outbox: 'bulk' } },
    { action: 'outbox.import', lane: 'main', details: { outbox: 'bulk', messages: 500 } },
    { action: 'outbox.import', lane: 'main', details: { outbox: 'bulk', messages: 1_000 } },
  ]);
});

test('The reason of a suppression is in the record of the operation, and not in the trail', async () => {
  const reason = 'Ada Byron of 07700 900124 asked for it';
  const body = { numbers: ['+447700900124'], lane: 'main', reason };
  expect((await call('POST', '/v1/suppressions', { body })).status).toBe(200);
  const entries = await trail();
  expect(entries[0]).toMatchObject({ action: 'suppression.add', details: { numberCount: 1 } });
  expect(JSON.stringify(entries)).not.toMatch(/Ada|900124|900 124/);
  const { json } = await call('GET', '/v1/suppressions/operations');
  expect(json).toMatchObject({ operations: [{ reason }] });
});

test('Refused requests of a valid key are counted for the trail', async () => {
  const server = await api({ REDIS_PREFIX: `${prefix}-requests` });
  const own = await server.key(['read']);
  for (let at = 0; at < 2; at += 1) await server.call('POST', '/v1/lanes/main/hold', { key: own });
  await server.call('GET', '/v1/campaigns/none', { key: own });
  await server.call('GET', '/healthz?x=1', { key: own });
  await server.volley.close();
  const entries = (await volleyOf(`${prefix}-requests`)).filter(({ action }) => action === 'request.refused');
  expect(entries.every(({ actor }) => actor?.id === own.split('_')[1])).toBe(true);
  expect(countsBy('code', entries)).toEqual({ notFound: 1, forbidden: 2 });
});

test('The trail names the address from which a key may not be used', async () => {
  const server = await api({ REDIS_PREFIX: `${prefix}-addresses` });
  const { key: own, id } = await server.volley.keys.create({
    ...{ name: 'shop', scopes: ['status'] },
    addresses: ['192.0.2.0/24'],
  });
  expect((await server.call('GET', '/v1/lanes', { key: own })).json).toMatchObject({ limit: 'addresses' });
  await server.volley.close();
  expect(await volleyOf(`${prefix}-addresses`)).toContainEqual(
    expect.objectContaining({
      action: 'request.refused',
      actor: expect.objectContaining({ id }),
      details: expect.objectContaining({ from: expect.stringContaining('127.0.0.1') }),
    }),
  );
});

test('Requests with an invalid key are counted for the trail', async () => {
  const server = await api({ REDIS_PREFIX: `${prefix}-refused` });
  for (let at = 0; at < 3; at += 1) await server.call('GET', '/v1/lanes', { key: 'vk_nothing' });
  await server.volley.close();
  const entries = await volleyOf(`${prefix}-refused`);
  expect(entries.every(({ action, actor }) => action === 'key.refused' && actor === null)).toBe(true);
  expect(countsBy('address', entries)).toEqual({ '127.0.0.1': 3 });
});

/** The counts of entries, added up: if a minute ends while the test sends its requests, they are in two entries. */
function countsBy(member: string, entries: readonly AuditEntry[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { details } of entries) {
    const name = String(details[member]);
    counts[name] = (counts[name] ?? 0) + Number(details['count']);
  }
  return counts;
}

async function volleyOf(redisPrefix: string): Promise<AuditEntry[]> {
  const { volley: own } = await api({ REDIS_PREFIX: redisPrefix });
  return (await own.audit()).entries;
}
