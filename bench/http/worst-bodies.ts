/** The bodies that cost the most for their length, for bench/limits.ts. */

/** A request of the bench. */
export interface Case {
  readonly route: string;
  readonly what: string;
  readonly type?: string;
  /** The member with the list, in JSON. */
  readonly list?: string;
  /** Made when it is needed: each may have megabytes. */
  body(): Buffer;
}

/** Repeats a text, separated by commas, until it has about `bytes`. */
function repeated(bytes: number, make: (at: number) => string, separator = ','): string {
  const parts: string[] = [];
  for (let [at, length] = [0, 0]; length < bytes; at += 1) {
    const part = make(at);
    length += part.length + separator.length;
    parts.push(part);
  }
  return parts.join(separator);
}

type Texts = readonly (readonly [what: string, text: () => string])[];

/** JSON objects of `bytes` that begin with these members, without the braces around them. */
function objects(bytes: number, members = ''): Texts {
  const start = members === '' ? '' : `${members},`;
  const room = bytes - start.length - 100;
  const nested = Math.floor(room / 2) - 10;
  return [
    ['unknown members', () => `{${start}${repeated(room, (at) => `"${at.toString(36)}":0`)}}`],
    ['members with the wrong type', () => `{${start}${repeated(room, (at) => `"${at.toString(36)}":[]`)}}`],
    ['metadata', () => `{${start}"metadata":{${repeated(room, (at) => `"${at.toString(36)}":""`)}}}`],
    [
      'metadata of numbers',
      () => `{${start}"metadata":{${repeated(room, (at) => `"${at.toString(36)}":0`)}}}`,
    ],
    ['a wide list', () => `{${start}"x":[${repeated(room, () => '0')}]}`],
    ['a list of objects', () => `{${start}"x":[${repeated(room, () => '{}')}]}`],
    ['deep lists', () => `{${start}"x":${'['.repeat(nested)}${']'.repeat(nested)}}`],
    ['deep objects', () => `{${start}"x":${'{"":'.repeat(room / 5)}0${'}'.repeat(room / 5)}}`],
    ['a long text', () => `{${start}"message":"${'x'.repeat(room)}"}`],
    ['a text of quotes', () => `{${start}"message":"${'\\"'.repeat(room / 2)}"}`],
    ['a text of braces', () => `{${start}"message":"${'{{a'.repeat(room / 3)}"}`],
    ['spaces', () => `${' '.repeat(room)}{${members}}`],
    ['spaces within', () => `{${' '.repeat(room)}${members}}`],
  ];
}

/** Lists of `bytes` as the member `name`. */
function lists(bytes: number, name: string, rest: string): Texts {
  const list = (items: string): string => `{${rest}"${name}":[${items}]}`;
  const of = (make: (at: number) => string): string => list(repeated(bytes - 300, make));
  const number = (at: number): string => `+4477009${String(at % 100_000).padStart(5, '0')}`;
  const wide = (count: number, value: string, prefix = ''): string =>
    `{"to":"+447700900123",${Array.from({ length: count }, (_, at) => `"${prefix}${at.toString(36)}":${value}`)}}`;
  return [
    ['empty rows', () => of(() => '{}')],
    ['rows with a number', () => of((at) => `{"to":"${number(at)}"}`)],
    ['rows with members of their own', () => of((at) => `{"to":"${number(at)}","${at.toString(36)}":1}`)],
    ['rows with 199 members', () => of(() => wide(199, '1'))],
    ['rows with 199 invalid members', () => of(() => wide(199, '{}'))],
    ['rows with 199 members of their own', () => of((at) => wide(199, '""', `${at}_`))],
    ['invalid rows', () => of(() => '0')],
    ['texts', () => of(() => '""')],
    ['numbers', () => of((at) => `"${number(at)}"`)],
    ['national numbers', () => of((at) => `"07700${at % 1_000_000}"`)],
    ['lists', () => of(() => '[]')],
    ['a row with many members', () => list(wide(Math.floor(bytes / 9), '0'))],
    ['a row with a long text', () => list(`{"to":"${'9'.repeat(bytes - 300)}"}`)],
    ['a row with a text of quotes', () => list(`{"to":"${'\\"'.repeat(bytes / 2 - 300)}"}`)],
    ['a deep row', () => list('['.repeat(bytes / 2 - 300) + ']'.repeat(bytes / 2 - 300))],
    ['rows and members with the wrong type', () => `{${repeated(bytes, (at) => `"${at.toString(36)}":[]`)}}`],
  ];
}

function form(campaign: string, csv: string): Buffer {
  const part = (name: string, text: string): string =>
    `--limit\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
  return Buffer.from(`${part('campaign', campaign)}${part('recipients', csv)}--limit--\r\n`);
}

const FORM_TYPE = 'multipart/form-data; boundary=limit';
const NDJSON_TYPE = 'application/x-ndjson';
/** What a route without a list accepts. */
const SMALL = 99_900;
/** What a route with a list accepts by default. */
const LARGE = 9_990_000;
/** A list of an outbox is stored while it arrives, with a result for each line: a longer one only takes longer. */
const STREAMED = 2_000_000;
const CAMPAIGN = '"message":"Hi {{name}}","sendAt":"2999-01-01T00:00:00Z"';
const SAME_TEXT = '"message":"Hi","sendAt":"2999-01-01T00:00:00Z"';
const CSV_MESSAGE = `{${CAMPAIGN},"skipInvalid":true,"again":true}`;

/** The routes without a list, each with members that it accepts. */
const SINGLE: readonly (readonly [route: string, members: string])[] = [
  ['PUT /v1/outboxes/box/messages/x', '"to":"+447700900123","name":"Ada"'],
  ['POST /v1/outboxes', '"name":"other","message":"Hi"'],
  ['POST /v1/find', '"number":"+447700900123"'],
  ['POST /v1/records', '"from":"2026-01-01","to":"2026-01-02"'],
  ['POST /v1/records/fetch', '"from":"2026-01-01","to":"2026-01-02"'],
  ['POST /v1/records/x/resolve', '"as":"resend"'],
  ['POST /v1/campaigns/x/resolve', '"as":"abandon"'],
  ['POST /v1/campaigns/x/pause', ''],
  ['POST /v1/lanes/default/rename', '"name":"other"'],
];
/** The routes with a list in JSON. */
const WITH_LIST: readonly (readonly [route: string, list: string, rest: string])[] = [
  ['POST /v1/campaigns', 'recipients', `${CAMPAIGN},`],
  ['POST /v1/preview', 'recipients', `${SAME_TEXT},"skipInvalid":true,"duplicates":"first",`],
  ['POST /v1/schedules', 'recipients', '"id":"s","cron":"0 9 * * 1","zone":"UTC","message":"Hi",'],
  ['POST /v1/suppressions', 'numbers', '"country":"GB",'],
  ['POST /v1/suppressions/remove', 'numbers', ''],
];

/** What a notification may have. */
const NOTIFICATION = 262_000;

function notifications(): Texts {
  const of = (make: (at: number) => string): string => `{"x":[${repeated(NOTIFICATION - 10, make)}]}`;
  return [
    ...objects(NOTIFICATION),
    ['empty lists', () => of(() => '[]')],
    ['texts', () => of(() => '""')],
    ['numbers', () => of(() => '"+447700900123"')],
    ['reports', () => of(() => '{"address":"+447700900123","deliveryStatus":"x"}')],
    [
      'addresses of a report',
      () => `{"deliveryStatus":"x","address":[${repeated(NOTIFICATION - 50, () => '"a"')}]}`,
    ],
    [
      'a link with many members',
      () => `{"link":{${repeated(NOTIFICATION - 50, (at) => `"${at.toString(36)}":0`)}}}`,
    ],
  ];
}

/** Requests without a list. `callback`: the address for notifications, with its token. */
export const smallCases = (callback: string): readonly Case[] => [
  ...notifications().map(([what, text]) => ({
    route: `POST ${callback}`,
    what: `notification: ${what}`,
    body: () => Buffer.from(text()),
  })),
  ...SINGLE.flatMap(([route, members]) =>
    objects(SMALL, members).map(([what, text]) => ({ route, what, body: () => Buffer.from(text()) })),
  ),
  // As it was before there was a limit.
  ...SINGLE.slice(0, 3).flatMap(([route, members]) =>
    objects(LARGE, members)
      .slice(0, 3)
      .map(([what, text]) => ({ route, what: `${what}, 10 MB`, body: () => Buffer.from(text()) })),
  ),
];

/** Requests with a list. */
export const LIST_CASES: readonly Case[] = [
  ...WITH_LIST.flatMap(([route, name, rest]) => [
    ...lists(LARGE, name, rest).map(([what, text]) => ({
      route,
      what,
      list: name,
      body: () => Buffer.from(text()),
    })),
    ...objects(LARGE, `${rest}"${name}":["+447700900123"]`).map(([what, text]) => ({
      route,
      what,
      list: name,
      body: () => Buffer.from(text()),
    })),
  ]),
  ...objects(SMALL, CAMPAIGN).map(([what, text]) => ({
    route: 'POST /v1/preview',
    what: `form: ${what}`,
    type: FORM_TYPE,
    body: () => form(text(), 'to,name\n+447700900123,Ada\n'),
  })),
  ...csvs(LARGE).map(([what, text]) => ({
    route: 'POST /v1/preview',
    what: `form: ${what}`,
    type: FORM_TYPE,
    body: () => form(CSV_MESSAGE, text()),
  })),
  ...csvs(STREAMED).map(([what, text]) => ({
    route: 'POST /v1/outboxes/box/messages',
    what,
    type: 'text/csv',
    body: () => Buffer.from(text().replace(/^to/, 'to,id')),
  })),
  ...lines(STREAMED).map(([what, text]) => ({
    route: 'POST /v1/outboxes/box/messages',
    what,
    type: NDJSON_TYPE,
    body: () => Buffer.from(text()),
  })),
];

function csvs(bytes: number): Texts {
  const number = (at: number): string => `+4477009${String(at % 100_000).padStart(5, '0')}`;
  const columns = Array.from({ length: 16_000 }, (_, at) => `c${at}`);
  return [
    ['CSV of numbers', () => `to,name\n${repeated(bytes, (at) => `${number(at)},A`, '\n')}`],
    ['CSV of empty fields', () => `to,name\n${repeated(bytes, () => ',', '\n')}`],
    [
      'CSV with 16,000 columns',
      () => `to,name,${columns}\n${repeated(bytes, () => ','.repeat(16_001), '\n')}`,
    ],
    ['CSV of long rows', () => `to,name\n${repeated(bytes, () => `"${'x'.repeat(900_000)}",`, '\n')}`],
  ];
}

function lines(bytes: number): Texts {
  const of = (make: (at: number) => string): string => repeated(bytes, make, '\n');
  return [
    ['messages', () => of((at) => `{"id":"${at}","to":"+447700900123","name":"A"}`)],
    ['empty messages', () => of(() => '{}')],
    ['lines that are no JSON', () => of(() => 'x')],
    [
      'messages with 20,000 members',
      () => of(() => `{${repeated(190_000, (at) => `"${at.toString(36)}":{}`)}}`),
    ],
    [
      'long times',
      () => of((at) => `{"id":"${at}","to":"+447700900123","name":"A","sendAt":"${'x'.repeat(190_000)}"}`),
    ],
    ['long numbers', () => of((at) => `{"id":"${at}","to":"${'9'.repeat(190_000)}","name":"A"}`)],
    ['long ids', () => of((at) => `{"id":"${at}${'9'.repeat(190_000)}","to":"+447700900123","name":"A"}`)],
    [
      'messages of 18,000 characters',
      () => of((at) => `{"id":"${at}","to":"+447700900123","name":"${'x'.repeat(18_000)}"}`),
    ],
    ['long texts', () => of((at) => `{"id":"${at}","to":"+447700900123","name":"${'x'.repeat(190_000)}"}`)],
    ['deep lines', () => of(() => '['.repeat(95_000) + ']'.repeat(95_000))],
    ['empty lines', () => '\n'.repeat(bytes)],
    ['one long line', () => 'x'.repeat(bytes)],
  ];
}
