import { readFile } from 'node:fs/promises';
import { expect, expectTypeOf, test } from 'vitest';
import { COUNTRIES } from '../../../src/campaign/numbers/numbering-plan.js';
import type { Input, Name, Output } from '../../../src/surfaces/console/base/api.js';
import { consoleCommands } from '../../../src/surfaces/http/openapi/console-commands.js';

const generated = async (name: string): Promise<unknown> =>
  JSON.parse(
    await readFile(new URL(`../../../src/surfaces/console/generated/${name}`, import.meta.url), 'utf8'),
  );

test('The build writes what the page knows about the operations', async () => {
  const commands = await generated('commands.json');
  expect(commands).toEqual(JSON.parse(JSON.stringify(consoleCommands())));
  expect(commands).toMatchObject({
    pauseCampaign: { method: 'POST', path: '/v1/campaigns/{id}/pause', scope: 'operate' },
    listCampaigns: { fields: { state: { in: 'query', type: 'name' }, limit: { to: 200, usual: 50 } } },
    putMessage: { fields: { id: { in: 'path' }, to: { in: 'body', required: true, length: 100 } } },
    createCampaign: { fields: { 'Idempotency-Key': { in: 'header' }, message: { length: 20_000 } } },
    putTemplate: { fields: { name: { in: 'path' }, message: { required: true } } },
    addLane: { fields: { hourlyQuota: { type: 'integer' } } },
    listWorkers: { allLanes: true },
  });
});

test('People choose among the countries whose numbers Volley can read', async () => {
  expect(String(await generated('countries.json')).split(' ')).toEqual([...COUNTRIES.keys()].sort());
});

test('What an operation takes and returns has the types of its row', async () => {
  expectTypeOf<Output<'listCampaigns'>>().toHaveProperty('campaigns');
  expectTypeOf<Output<'listCampaigns'>>().not.toHaveProperty('campaign');
  expectTypeOf<Output<'listCampaigns'>['campaigns'][number]['state']>().extract<'sending'>().toBeNever();
  expectTypeOf<{ state: 'running' }>().toExtend<Input<'listCampaigns'>>();
  expectTypeOf<{ state: 'sending' }>().not.toExtend<Input<'listCampaigns'>>();
  expectTypeOf<{ id: string }>().toExtend<Input<'pauseCampaign'>>();
  expectTypeOf<{ campaign: string }>().not.toExtend<Input<'pauseCampaign'>>();
  expectTypeOf<{ message: string; recipients: { to: string }[] }>().toExtend<Input<'createCampaign'>>();
  expectTypeOf<{ message: number }>().not.toExtend<Input<'createCampaign'>>();
  const name = 'pauseCampaign' satisfies Name;
  expectTypeOf<'pauseCampaigns'>().not.toExtend<Name>();
  expect(await generated('commands.json')).toHaveProperty(name);
});
