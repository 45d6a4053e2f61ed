import { beforeAll, describe, expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, list } = scene('cli-campaign-id', { list: 'name,phone\nAnna,+447700900101\n' });
const { volley, json } = shell();

const created = async (text: string): Promise<string> => {
  const { output } = await json('send', list, '-s', 'ACME', '-m', text, '--yes');
  return (output as { id: string }).id;
};
const shown = async (...id: readonly string[]): Promise<unknown> => {
  const { exit, output } = await json('status', ...id);
  return exit === 0 ? (output as { id: string }).id : output;
};
/** What only `id` begins with. */
const unique = (id: string, other: string): string => {
  const at = [...id].findIndex((letter, index) => letter !== other[index]);
  return id.slice(0, at + 1);
};

describe('A campaign', () => {
  let [older, newer] = ['', ''];
  beforeAll(async () => {
    older = await created('one');
    newer = await created('two');
  });

  test('is the newest one without an id, and as last', async () => {
    expect([await shown(), await shown('last'), await shown('LAST')]).toEqual([newer, newer, newer]);
  });

  test('is found by the beginning of its id, in any letter case', async () => {
    const start = unique(older, newer);
    expect([await shown(start), await shown(start.toUpperCase()), await shown(older.toUpperCase())]).toEqual([
      older,
      older,
      older,
    ]);
  });

  test('is named by its whole id in answers', async () => {
    expect((await json('pause', 'last')).output).toMatchObject({ id: newer, state: 'paused' });
    expect((await volley('resume', 'LAST')).stdout).toContain(newer);
    expect((await volley('report', unique(older, newer))).stdout).toContain('+447700900101,planned');
  });

  test('is found by its name, in any letter case, if only one has it', async () => {
    const { output } = await json(
      'send',
      list,
      '-s',
      'ACME',
      '-m',
      'three',
      '--name',
      'Summer sale',
      '--yes',
    );
    const { id } = output as { id: string };
    expect([await shown('Summer sale'), await shown('summer SALE ')]).toEqual([id, id]);
    expect((await volley('status', 'Summer')).exit).toBe(2);
  });
});

test('A flag names a campaign or a key as an argument does', async () => {
  const id = await created('four');
  const { output: audit } = await json('audit', '--campaign', 'last');
  const { entries } = audit as { entries: { action: string; campaign: string }[] };
  expect(entries).toMatchObject([{ action: 'campaign.create', campaign: id }]);
  expect((await volley('inbound', 'list', '--campaign', 'LAST')).stdout).toContain(
    'No reply to this campaign has arrived.',
  );
  expect((await json('keys', 'create', '--name', 'b', '--scope', 'read')).exit).toBe(0);
  expect((await json('usage', '--key', 'last')).exit).toBe(0);
  for (const args of [
    ['inbound', 'list', '--campaign', 'sale-9'],
    ['audit', '--campaign', 'sale-9'],
    ['usage', '--key', 'sale-9'],
  ]) {
    const { exit, stderr } = await volley(...args);
    expect([exit, stderr]).toEqual([2, expect.stringMatching(/There is no (campaign|key) sale-9/)]);
  }
  await json('keys', 'revoke', 'last');
});

test('A key is revoked by the beginning of its id, or as last', async () => {
  const add = async (): Promise<string> =>
    ((await json('keys', 'create', '--name', 'a', '--scope', 'read')).output as { id: string }).id;
  const first = await add();
  const second = await add();
  expect((await json('keys', 'revoke', unique(first, second).toUpperCase())).output).toMatchObject({
    id: first,
  });
  expect((await json('keys', 'revoke', 'last')).output).toMatchObject({ id: second });
  expect((await json('keys', 'list')).output).toEqual({ keys: [] });
});
