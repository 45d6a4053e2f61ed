import stringify from 'json-stringify-pretty-compact';
import { expect, test } from 'vitest';
import { campaignForm } from '../scene/api.js';
import { scene } from '../scene/scene.js';
import { transcriptOf } from './transcript.js';

const { api, shell, write, folder: cwd, prefix } = scene('golden-errors');
write('list.csv', 'name,phone\nAnna,+447700900101\n');
write('messy.csv', 'name,phone\nAnna,+447700900101\nBo,+44 12\nCy,\n,07700 900102\n');
write('empty.csv', '');

/** Command lines with one mistake each, as people make them. */
const COMMANDS: readonly string[] = [
  'tokn',
  'list extra',
  'list --limit 0',
  'list --state runing',
  'status nothing',
  'pause nothing',
  'cancel nothing',
  'cancel nothing --yes',
  'report nothing',
  'report x --format xml',
  'report x --status DeliveredToTerminl',
  'resolve nothing --resend --abandon',
  'find nobody',
  'find 07700900101 --country Britain',
  'lane resume nowhere',
  'token show',
  'send',
  'send list.csv --yes',
  'send list.csv -m Hi',
  'send list.csv -m Hi -s ACME',
  'send list.csv -m @nowhere.txt --yes',
  'send list.csv -m {{nmae}} -s ACME --yes',
  'send missing.csv -m Hi -s ACME --yes',
  'send empty.csv -m Hi -s ACME --yes',
  'send messy.csv -m Hi{{name}} -s ACME --yes',
  'send . -m Hi -s ACME --yes',
  'send list.csv -m Hi -s Sender-of-fifteen --yes',
  'send list.csv -m Hi -s ACME --at soon --yes',
  'send list.csv -m Hi -s ACME --valid-for 24 --yes',
  'send list.csv -m Hi -s ACME --max-cost 5,00 --yes',
  'send list.csv -m Hi -s ACME --max-cost 50 --yes',
  'send list.csv -m Hi -s ACME --priority urgent --yes',
  'send list.csv -m Hi -s ACME --country UK --yes',
  'send list.csv -m Hi -s ACME --lane nowhere --yes',
  'send list.csv -m Hi -s ACME --to-column mobile --yes',
  'send list.csv -m Hi -s ACME --test-to 12 --yes',
  'send list.csv -m Hi -s ACME --window soon --yes',
  'send list.csv -m Hi -s ACME --window Mon-Fri --zone Nowhere --yes',
  'send list.csv -m Hi -s ACME --metadata color --yes',
  'send list.csv -m Hi -s ACME --mesage Hi --yes',
  'schedule add list.csv -m Hi -s ACME --cron never --zone UTC',
  'schedule show nothing',
  'outbox create box',
  'outbox create Box! -m Hi -s ACME --late 1h',
  'outbox put nothing m1 +447700900101 --send-at 2030-05-01T09:00Z',
  'outbox show nothing',
  'suppress add nobody',
  'suppress import missing.csv',
  'keys create --name shop',
  'keys create --name shop --scope reed',
  'keys revoke nothing',
  'records download nothing',
  'results --cursor nonsense',
  'audit --limit 0',
  'work --roles sned',
  'work',
  'simulator --options {',
];

test('What the command line says about a mistake is that in mistakes.txt', async () => {
  const cli = shell();
  const { once, text } = transcriptOf(cli, { [cwd]: '.' });
  for (const command of COMMANDS) {
    const { exit } = await once(...command.split(' '));
    expect(exit, command).toBe(2);
  }
  await once('send', 'messy.csv', '-m', 'Hi', '-s', 'ACME', '--yes', '--json');
  await once('lanes', '--json');
  await expect(text()).toMatchFileSnapshot('files/mistakes.txt');
});

const recipients = [{ to: '+447700900101', values: { name: 'Anna' } }];
/** Requests with one mistake each. */
const REQUESTS: readonly (readonly [request: string, body?: unknown])[] = [
  ['GET /v1/nothing'],
  ['DELETE /v1/campaigns'],
  ['GET /v1/campaigns?limit=0'],
  ['GET /v1/campaigns?sate=running'],
  ['GET /v1/campaigns?cursor=nonsense'],
  ['GET /v1/campaigns/nothing'],
  ['POST /v1/campaigns/nothing/pause'],
  ['GET /v1/campaigns/nothing/report'],
  ['POST /v1/campaigns', {}],
  ['POST /v1/campaigns', { recipients, message: 'Hi' }],
  ['POST /v1/campaigns', { recipients: [], message: 'Hi', sender: 'ACME' }],
  ['POST /v1/campaigns', { recipients, message: 7, sender: 'ACME', a: 1 }],
  ['POST /v1/campaigns', { recipients: [{ to: '0770' }], message: 'Hi', sender: 'ACME' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi {{nmae}}', sender: 'ACME' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'A name that is too long' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'ACME', lane: 'nowhere' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'ACME', sendAt: 'soon' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'ACME', maxCost: '5,00' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'ACME', country: 'UK' }],
  [
    'POST /v1/campaigns',
    { recipients, message: 'Hi', sender: 'ACME', window: { hours: 'soon' }, zone: 'UTC' },
  ],
  ['POST /v1/find', { number: '0770' }],
  ['POST /v1/find', { number: '+447700900101', nubmer: 1 }],
  ['GET /v1/lanes/nowhere'],
  ['POST /v1/suppressions', { numbers: ['nobody'] }],
  ['PUT /v1/outboxes/nothing/messages/m1', { to: '+447700900101', sendAt: '2030-05-01T09:00:00Z' }],
  ['POST /v1/outboxes', { name: 'box' }],
  ['GET /v1/outboxes/nothing'],
  ['POST /v1/schedules', { id: 'weekly' }],
  ['GET /v1/schedules/nothing'],
  ['GET /v1/results?after=nonsense'],
  ['GET /v1/records/nothing'],
];

test('The problems that the HTTP API answers are those in problems.txt', async () => {
  const { call } = await api({ REDIS_PREFIX: `${prefix}-http` });
  const entries: string[] = [];
  const record = (request: string, status: number, json: unknown): void =>
    void entries.push(`${request}\n${status} ${stringify(json, { indent: 1, maxLength: 100 })}\n`);
  for (const [request, body] of REQUESTS) {
    const [method = '', path = ''] = request.split(' ');
    const { status, json } = await call(method, path, body === undefined ? {} : { body });
    expect(status, request).toBeGreaterThanOrEqual(400);
    record(`${request}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`, status, json);
  }
  const form = campaignForm({ message: 'Hi', sender: 'ACME' }, 'name,phone\nAnna,+44 12\n,07700 900102\n');
  const upload = await call('POST', '/v1/campaigns', { form });
  record('POST /v1/campaigns, a form with invalid rows', upload.status, upload.json);
  const without = await call('GET', '/v1/campaigns', { key: 'vk_none' });
  record('GET /v1/campaigns with an unknown key', without.status, without.json);
  const text = entries.join('\n').replace(/"requestId": "[^"]*"/g, '"requestId": "<request>"');
  await expect(text).toMatchFileSnapshot('files/problems.txt');
});
