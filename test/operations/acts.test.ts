import { expect, test } from 'vitest';
import { createdCampaign } from '../../src/operations/rows/create-campaign.js';
import { scene } from '../scene/scene.js';

/*
 * Every surface answers an act with the same members: what the library returns, the body of HTTP, and what `--json` prints. Each surface has an
 * object of its own, so values such as ids and times differ.
 */

const { api, shell, write } = scene('operations-acts', {
  lanes: ['main'],
  settings: { DEFAULT_COUNTRY: 'GB', SENDER_ADDRESS: 'ACME', MAX_SCHEDULE_AHEAD: '365000d' },
});
const { call, volley } = await api();
const { json } = shell();
write('list.csv', 'phone\n+447700900123\n');

const LATER = '2999-01-01T00:00:00Z';
const DUE = '2030-01-01T09:00:00Z';
const TO = '+447700900123';
const recipients = [{ to: TO }];
const times = { cron: '0 9 * * 1', zone: 'UTC' };

interface Act {
  readonly name: string;
  /** What the library returns or throws. */
  readonly library: () => Promise<object>;
  readonly http: readonly [method: string, path: string, body?: object];
  readonly headers?: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** What each surface must say, besides having the same members. */
  readonly says: object;
  readonly status: number;
}

const campaign = (again: boolean): Act => ({
  name: again ? 'a campaign that exists' : 'a created campaign',
  library: () => volley.enqueue({ recipients, message: 'library', sendAt: LATER, idempotencyKey: 'library' }),
  http: ['POST', '/v1/campaigns', { recipients, message: 'http', sendAt: LATER }],
  headers: { 'idempotency-key': 'http' },
  command: [
    ...['send', 'list.csv', '--message', 'command', '--at', LATER, '--idempotency-key', 'command'],
    '--yes',
  ],
  says: { outcome: again ? 'existing' : 'created', state: 'scheduled', lane: 'main' },
  status: again ? 200 : 201,
});
const schedule = (again: boolean): Act => ({
  name: again ? 'a schedule that exists' : 'an added schedule',
  library: () => volley.schedules.add({ id: 'library', ...times, message: 'Hi', recipients }),
  http: ['POST', '/v1/schedules', { id: 'http', ...times, message: 'Hi', recipients }],
  command: [
    ...['schedule', 'add', 'list.csv', '--id', 'command', '--cron', times.cron, '--zone', times.zone],
    ...['--message', 'Hi'],
  ],
  says: { outcome: again ? 'existing' : 'created', state: 'active' },
  status: again ? 200 : 201,
});
const changedSchedule = (outcome: 'updated' | 'unchanged'): Act => ({
  name: `a put of a schedule: ${outcome}`,
  library: () => volley.schedules.put({ id: 'library', ...times, message: 'Hello', recipients }),
  http: ['PUT', '/v1/schedules/http', { ...times, message: 'Hello', recipients }],
  command: [
    ...['schedule', 'add', 'list.csv', '--id', 'command', '--cron', times.cron, '--zone', times.zone],
    ...['--message', 'Hello', '--replace'],
  ],
  says: { outcome },
  status: 200,
});
const template = (message: string, outcome: string): Act => ({
  name: `a put of a template: ${outcome}`,
  library: () => volley.templates.put({ name: 'library', message }),
  http: ['PUT', '/v1/templates/http?lane=main', { message }],
  command: ['template', 'put', 'command', '--message', message, '--lane', 'main'],
  says: { outcome, message, lane: 'main', sender: null, columns: ['name'] },
  status: 200,
});
const deletedTemplate = (says: object, status: number): Act => ({
  name: `a template that is deleted: ${JSON.stringify(says)}`,
  // It returns nothing.
  library: async () => ({ ...says, state: 'deleted', name: await volley.templates.delete('library') }),
  http: ['DELETE', '/v1/templates/http?lane=main'],
  command: ['template', 'delete', 'command', '--lane', 'main'],
  says,
  status,
});
const outbox = (again: boolean): Act => ({
  name: again ? 'an outbox that exists' : 'a created outbox',
  library: () => volley.outboxes.create({ name: 'library', message: 'Hi {{name}}' }),
  http: ['POST', '/v1/outboxes', { name: 'http', message: 'Hi {{name}}' }],
  command: ['outbox', 'create', 'command', '--message', 'Hi {{name}}'],
  says: { outcome: again ? 'existing' : 'created', state: 'open' },
  status: again ? 200 : 201,
});
const put = (version: number, name: string, says: object, status: number): Act => ({
  name: `a put with version ${version}: ${JSON.stringify(says)}`,
  library: () => volley.outbox('library').put({ id: 'm', to: TO, name, version, sendAt: DUE }),
  http: ['PUT', '/v1/outboxes/http/messages/m', { to: TO, name, version, sendAt: DUE }],
  command: [
    ...['outbox', 'put', 'command', 'm', TO, '--set', `name=${name}`],
    ...['--send-at', DUE, '--version', String(version)],
  ],
  says,
  status,
});
const cancel = (version: number, says: object, status: number): Act => ({
  name: `a cancel with version ${version}: ${JSON.stringify(says)}`,
  library: () => volley.outbox('library').cancel('m', { version }),
  http: ['DELETE', `/v1/outboxes/http/messages/m?version=${version}`],
  command: ['outbox', 'cancel', 'command', 'm', '--version', String(version)],
  says,
  status,
});
const numbers = { library: ['+447700900201'], http: ['+447700900202'], command: ['+447700900203'] };
const suppressed = (change: 'add' | 'remove', numberCount: number): Act => ({
  name: `numbers that ${change === 'add' ? 'are suppressed' : 'are no longer suppressed'}: ${numberCount}`,
  library: () => volley.suppression[change](numbers.library),
  http: ['POST', `/v1/suppressions${change === 'add' ? '' : '/remove'}`, { numbers: numbers.http }],
  command: ['suppress', change, ...numbers.command],
  says: { lane: null, numberCount },
  status: 200,
});

/** In this order: most need what those before them have made. */
const ACTS: readonly Act[] = [
  campaign(false),
  campaign(true),
  schedule(false),
  schedule(true),
  changedSchedule('updated'),
  changedSchedule('unchanged'),
  template('Hi {{name}}', 'created'),
  template('Hi {{name}}', 'unchanged'),
  template('Hello {{name}}', 'updated'),
  deletedTemplate({ state: 'deleted' }, 200),
  outbox(false),
  outbox(true),
  put(3, 'Ada', { outcome: 'created' }, 200),
  put(3, 'Ada', { outcome: 'unchanged' }, 200),
  put(4, 'Grace', { outcome: 'updated' }, 200),
  put(2, 'Ada', { code: 'stale' }, 409),
  cancel(1, { code: 'stale' }, 409),
  cancel(4, { outcome: 'cancelled' }, 200),
  put(4, 'Ada', { code: 'ended' }, 409),
  suppressed('add', 1),
  suppressed('add', 0),
  suppressed('remove', 1),
  suppressed('remove', 0),
];

/** The members of what a surface says, in any order. Only the command line knows where messages go from its machine. */
function membersOf({ destination: _destination, ...answer }: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(answer).sort();
}

/** An error as every surface shows it: its code and its sentence. */
const saidOf = (code: unknown, message: unknown) => ({
  code,
  // Each names an outbox of its own.
  message: String(message)
    .replace(/^[a-z]/, (letter) => letter.toUpperCase())
    .replace(/\.$/, ''),
});

test.each(ACTS)(
  'All surfaces answer alike: $name',
  async ({ library, http, headers, command, says, status }) => {
    const inCode = await library().catch((error: unknown) => error);
    const [method, path, body] = http;
    const response = await call(method, path, { body, ...(headers && { headers }) });
    const { output } = await json(...command);
    expect(response.status).toBe(status);
    const [ofHttp, ofCommand] = [Object(response.json), Object(output)];
    if (inCode instanceof Error) {
      const { code, message, statusCode } = Object(inCode);
      expect(statusCode).toBe(status);
      const said = saidOf(code, message);
      expect(said).toMatchObject(says);
      expect(saidOf(ofHttp.code, ofHttp.detail)).toEqual(said);
      expect(saidOf(ofCommand.error?.code, ofCommand.error?.message)).toEqual(said);
      return;
    }
    for (const answer of [inCode, ofHttp, ofCommand]) expect(answer).toMatchObject(says);
    expect(membersOf(ofHttp)).toEqual(membersOf(Object(inCode)));
    expect(membersOf(ofCommand)).toEqual(membersOf(Object(inCode)));
  },
);

test('A created campaign has the members that its schema names', async () => {
  const created = await volley.enqueue({ recipients, message: 'schema', sendAt: LATER });
  expect(createdCampaign.strict().safeParse(created)).toMatchObject({ success: true });
});
