import { expect, test } from 'vitest';
import { loadLocalConfig } from '../../../../src/base/config/index.js';
import { type OutboxName, STORED_NAMES, storedAs } from '../../../../src/campaign/fields/field-sets.js';
import { defineOutbox } from '../../../../src/intake/outbox/definition/define-outbox.js';
import { parseSettings } from '../../../../src/intake/outbox/definition/settings.js';
import { waveMeta } from '../../../../src/intake/outbox/waves/wave.js';

const NOW = Date.parse('2030-05-01T09:00:00Z');
const fields: { readonly [Name in OutboxName | 'window']: unknown } & { readonly message: string } = {
  message: 'Hi {{name}}',
  sender: '447700900000',
  senderName: 'Shop',
  tags: ['app', 'codes'],
  country: 'GB',
  priority: 'high',
  window: { hours: 'Mon-Sun 00:00-24:00' },
};

test('A wave has every field of its outbox that campaigns store', () => {
  const input = { name: 'visits', zone: 'UTC', ...fields } as Parameters<typeof defineOutbox>[1];
  const definition = defineOutbox(loadLocalConfig({ API_KEY: 'key' }), input, NOW);
  const settings = parseSettings(JSON.stringify({ ...definition, columns: ['name'], created: NOW }));
  expect(settings).toMatchObject({ ...fields, window: definition.window });
  const meta = waveMeta(settings, 'visits', 'default', 'mws2vmompuz9a', NOW);
  const stored = Object.entries(settings).flatMap(([name, value]) => {
    const field = STORED_NAMES.find((each) => each === name);
    return field === undefined ? [] : [[storedAs(field), value]];
  });
  expect(Object.fromEntries(stored)).toStrictEqual({
    text: fields.message,
    sender: fields.sender,
    senderName: fields.senderName,
    tags: fields.tags,
    priority: fields.priority,
    zone: 'UTC',
    window: definition.window,
  });
  expect(meta).toMatchObject(Object.fromEntries(stored));
});
