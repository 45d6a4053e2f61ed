import { expect, test } from 'vitest';
import { importsOf, type SourceFile, sourceFiles } from './sources.js';

/**
 * The rooms, in order. A room imports only from itself and from rooms above it. Within a room, each folder or file at its root lists
 * those of the same room that it may import, so that a few large rooms do not hide new dependencies.
 */
const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  // Pure rules.
  campaign: {
    errors: [],
    time: ['errors'],
    text: ['errors'],
    states: [],
    fields: ['errors', 'time', 'text', 'states'],
    views: ['errors', 'states', 'fields'],
    numbers: ['errors', 'views'],
    lists: ['text'],
    limits: ['errors', 'text', 'states', 'views', 'numbers'],
    estimate: ['errors', 'time', 'fields', 'views'],
  },
  base: {
    clock: [],
    duration: [],
    moments: ['duration'],
    'wrapped-text': [],
    version: [],
    'exit-codes': [],
    counted: [],
    account: [],
    json: [],
    lazily: [],
    repeating: ['clock'],
    'host-header': [],
    redis: ['clock', 'lazily'],
    // What each version of the service documents, as data.
    profiles: [],
    config: ['account', 'clock', 'duration', 'json', 'version', 'redis', 'profiles'],
    events: ['clock', 'duration', 'wrapped-text', 'config'],
  },
  // `client` and `auth` do not know each other: the token cache receives the login function as a parameter.
  service: { 'login-outcome': [], client: ['login-outcome'], auth: ['login-outcome'] },
  // What Redis stores, and the scripts that change it; then the stages of a campaign, in their order.
  engine: {
    'day-limits': [],
    recipients: ['day-limits'],
    suppression: ['recipients'],
    store: ['recipients'],
    quota: ['store'],
    scripts: ['recipients', 'store', 'quota'],
    claim: ['recipients', 'store', 'quota', 'scripts'],
    jobs: ['scripts', 'claim'],
    lane: ['recipients', 'store', 'quota', 'scripts', 'claim', 'jobs'],
    sending: ['recipients', 'store', 'scripts', 'claim', 'jobs', 'lane'],
    notifications: ['recipients', 'store', 'scripts', 'claim', 'jobs', 'lane', 'sending'],
    inbound: ['recipients', 'suppression', 'jobs', 'lane', 'notifications'],
    'follow-up': ['recipients', 'scripts', 'claim', 'jobs', 'sending', 'notifications'],
    recovery: ['recipients', 'store', 'quota', 'scripts', 'claim', 'jobs', 'lane', 'sending', 'follow-up'],
  },
  reporting: {},
  'call-records': {},
  // Schedules create campaigns, as a client does.
  intake: {
    templates: [],
    import: [],
    outbox: ['import'],
    schedules: ['import', 'templates'],
    changes: ['import', 'outbox'],
  },
  tools: { simulator: [], conformance: [] },
  app: {
    access: [],
    forget: ['access'],
    volley: ['access', 'forget'],
    // How the arguments of the library are checked.
    input: ['access', 'forget', 'volley'],
    // What is wrong with an installation.
    doctor: ['access', 'volley'],
    worker: ['volley'],
    // The composition root.
    runtime: ['access', 'forget', 'volley', 'input', 'doctor', 'worker'],
  },
  // One row per operation. The surfaces read the rows.
  operations: {},
  // What a program imports.
  index: {},
  surfaces: {
    metrics: [],
    http: ['metrics'],
    // Runs in the browser.
    console: [],
    // Runs a process: `volley up`, `work`, and `serve`, and the shells in workers/.
    lifecycle: ['http', 'metrics'],
    cli: ['lifecycle'],
  },
  workers: {},
};

/** The folders and files of large folders, in the same form. */
const WITHIN: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'call-records': {
    // What an operator writes about the service, and requests and responses as it says.
    contract: [],
    store: ['contract'],
    credentials: ['contract', 'store'],
    'send-request': ['contract', 'store', 'credentials'],
    'ask-status': ['contract', 'store', 'send-request'],
    'open-file': ['contract', 'store', 'send-request', 'ask-status'],
    resolve: ['store', 'send-request'],
    fetch: ['store', 'send-request', 'ask-status', 'open-file'],
    records: [
      'contract',
      'store',
      'credentials',
      'send-request',
      'ask-status',
      'open-file',
      'resolve',
      'fetch',
    ],
    'open-records': ['contract', 'store', 'records'],
    'audited-records': ['contract', 'records'],
  },
  'tools/simulator': {
    rules: [],
    state: ['rules'],
    wire: ['rules', 'state'],
    messages: ['rules', 'state', 'wire'],
    accounts: ['rules', 'state', 'wire'],
    records: ['rules', 'state', 'wire'],
    summary: ['state', 'messages', 'accounts'],
    control: ['rules', 'state', 'wire', 'messages', 'records', 'summary'],
    server: ['rules', 'state', 'wire', 'messages', 'accounts', 'records', 'summary', 'control'],
    index: ['rules', 'state', 'records', 'summary', 'server'],
    main: ['server'],
  },
  operations: {
    access: [],
    outcomes: [],
    operation: ['access', 'outcomes'],
    'command-table': ['operation'],
    // Parts of inputs and outputs.
    schemas: ['operation'],
    rows: ['access', 'outcomes', 'operation', 'schemas'],
    index: ['operation', 'rows'],
    words: ['index'],
  },
  'surfaces/http': {
    server: [],
    limits: ['server'],
    // What each route says about itself.
    route: ['server', 'limits'],
    access: ['server', 'limits', 'route'],
    bodies: ['server', 'limits', 'route', 'access'],
    answers: ['server', 'limits', 'route', 'access'],
    openapi: ['server', 'limits', 'route', 'bodies', 'answers'],
    routes: ['server', 'limits', 'route', 'access', 'bodies', 'answers', 'openapi'],
    app: ['server', 'limits', 'route', 'access', 'bodies', 'openapi', 'routes'],
    plugin: ['route', 'app'],
    index: ['route', 'app', 'plugin'],
  },
  'surfaces/cli': {
    output: [],
    context: ['output'],
    // Finds the Redis, the settings, and the campaign of a command, and opens Volley.
    open: ['output', 'context'],
    files: ['output', 'context'],
    flags: ['context', 'files'],
    watch: ['output', 'context', 'open'],
    // What people read of an operation.
    answers: ['output', 'context', 'open', 'files', 'flags', 'watch'],
    // The commands that are written by hand: those on campaigns and the like, and those on this machine.
    actions: ['output', 'context', 'open', 'files', 'flags', 'watch', 'answers'],
    machine: ['output', 'context', 'open', 'files'],
    // Their names, options, and help.
    commands: ['output', 'context', 'flags', 'answers', 'actions', 'machine'],
    program: ['output', 'context', 'machine', 'commands'],
    main: ['program'],
  },
};

/** Folders that may import less than the rooms above theirs: the folders of other rooms that they may import. */
const ISOLATED: Readonly<Record<string, readonly string[]>> = {
  // The simulator implements the interface on its own, so that it cannot share a misreading with the client.
  'tools/simulator': ['base/clock', 'base/host-header'],
  // It is loaded by browsers; test/surfaces/console says which modules of the other rooms its bundle may have.
  'surfaces/console': ['campaign', 'operations'],
};

/** Libraries that only some folders may import. */
const IMPORTED_IN: Readonly<Record<string, readonly string[]>> = {
  got: ['service/client'],
  'request-filtering-agent': ['service/client'],
  ioredis: ['base/redis'],
  bullmq: ['engine/jobs'],
  pino: ['base/events'],
  dotenv: ['base/config'],
  commander: ['surfaces/cli'],
  fastify: ['surfaces/http'],
  'fastify-type-provider-zod': ['surfaces/http'],
  '@fastify': ['surfaces/http'],
  'prom-client': ['surfaces/metrics'],
  testcontainers: ['base/redis'],
  preact: ['surfaces/console'],
  '@preact': ['surfaces/console'],
  'preact-iso': ['surfaces/console'],
  'openapi-fetch': ['surfaces/console'],
  'eventsource-parser': ['surfaces/console'],
  vite: ['surfaces/console'],
};

const files = sourceFiles(['src', 'workers'], ['.ts', '.tsx', '.lua']);

/** `src/engine/quota/ledger.lua` → `engine`, `src/index.ts` → `index`, `workers/send.ts` → `workers`. */
function roomOf(path: string): string {
  return /^src\/([^/.]+)/.exec(path)?.[1] ?? path.replace(/\/.*/, '');
}

/** `src/engine/quota/ledger.lua` → `engine/quota`, `src/app/volley.ts` → `app/volley`; of a room without folders, the room. */
function folderOf(path: string): string {
  const room = roomOf(path);
  if (Object.keys(ROOMS[room] ?? {}).length === 0) return room;
  return `${room}/${/^src\/[^/]+\/([^/.]+)/.exec(path)?.[1]}`;
}

const isOurs = (name: string): boolean => /^(src|workers|test)\//.test(name);

/** Every forbidden import of these files, as `file -> imported`. */
function forbiddenImports(
  from: readonly SourceFile[],
  forbidden: (imported: string, folder: string) => boolean,
): string[] {
  return from.flatMap((file) =>
    importsOf(file)
      .filter((imported) => forbidden(imported, folderOf(file.path)))
      .map((imported) => `${file.path} -> ${imported}`),
  );
}

const inRoom = (room: string): SourceFile[] => files.filter(({ path }) => roomOf(path) === room);
const filesIn = (folder: string): SourceFile[] => files.filter(({ path }) => folderOf(path) === folder);

const ORDER = Object.keys(ROOMS);
const FOLDERS = Object.entries(ROOMS).flatMap(([room, folders]) => {
  const names = Object.keys(folders);
  return names.length === 0 ? [room] : names.map((name) => `${room}/${name}`);
});

test('every source file is in a folder of the table of rooms', () => {
  expect(files.map(({ path }) => path).filter((path) => !FOLDERS.includes(folderOf(path)))).toEqual([]);
});

for (const room of ORDER) {
  const above = ORDER.slice(0, ORDER.indexOf(room));
  test(`${room} imports from no room below it`, () => {
    expect(
      forbiddenImports(inRoom(room), (path) => isOurs(path) && ![room, ...above].includes(roomOf(path))),
    ).toEqual([]);
  });
}

for (const [room, folders] of Object.entries(ROOMS)) {
  for (const [name, imported] of Object.entries(folders)) {
    test(`In ${room}, ${name} imports only from ${['itself', ...imported].join(', ')}`, () => {
      const allowed = [name, ...imported].map((one) => `${room}/${one}`);
      expect(
        forbiddenImports(
          filesIn(`${room}/${name}`),
          (path) => isOurs(path) && roomOf(path) === room && !allowed.includes(folderOf(path)),
        ),
      ).toEqual([]);
    });
  }
}

for (const [folder, parts] of Object.entries(WITHIN)) {
  /** `src/surfaces/http/limits/turns.ts` → `limits`. */
  const partOf = (path: string): string | undefined =>
    path.startsWith(`src/${folder}/`) ? path.slice(`src/${folder}/`.length).split(/[/.]/)[0] : undefined;
  test(`${folder} has the parts of its table`, () => {
    const found = new Set(filesIn(folder).map(({ path }) => partOf(path)));
    expect([...found].toSorted()).toEqual(Object.keys(parts).toSorted());
  });
  for (const [name, imported] of Object.entries(parts)) {
    test(`In ${folder}, ${name} imports only from ${['itself', ...imported].join(', ')}`, () => {
      const from = filesIn(folder).filter(({ path }) => partOf(path) === name);
      const allowed = [undefined, name, ...imported];
      expect(forbiddenImports(from, (path) => !allowed.includes(partOf(path)))).toEqual([]);
    });
  }
}

for (const [folder, imported] of Object.entries(ISOLATED)) {
  test(`${folder} imports only from ${['itself', ...imported].join(', ')}`, () => {
    const allowed = [folder, ...imported];
    expect(
      forbiddenImports(
        filesIn(folder),
        (path) => isOurs(path) && !allowed.some((one) => `${folderOf(path)}/`.startsWith(`${one}/`)),
      ),
    ).toEqual([]);
  });
}

for (const [library, folders] of Object.entries(IMPORTED_IN)) {
  test(`${library} is imported only in ${folders.join(' and ')}`, () => {
    const isLibrary = (name: string): boolean => name === library || name.startsWith(`${library}/`);
    expect(forbiddenImports(files, (name, folder) => isLibrary(name) && !folders.includes(folder))).toEqual(
      [],
    );
  });
}

test('campaign/ imports no Node module, because its rules are pure', () => {
  expect(forbiddenImports(inRoom('campaign'), (name) => name.startsWith('node:'))).toEqual([]);
});

test.each(Object.entries({ ...ROOMS, ...WITHIN }))(
  'The folders of %s import each other in one direction',
  (_, folders) => {
    expect(cycles(Object.keys(folders), (folder) => folders[folder] ?? [])).toEqual([]);
  },
);

test('no file imports itself through other files, not even for a type', () => {
  const imports = new Map(files.map((file) => [file.path, importsOf(file).filter(isOurs)]));
  expect(cycles([...imports.keys()], (path) => imports.get(path) ?? [])).toEqual([]);
});

test('no folder or file is a bucket such as utils, helpers, or types', () => {
  const bucket = /(^|\/)(utils?|helpers?|common|types?|misc|shared|interfaces|enums)(\/|\.[a-z.]+$)/;
  const everywhere = sourceFiles(['src', 'workers', 'test', 'bench'], ['.ts', '.tsx', '.lua']);
  expect(everywhere.map(({ path }) => path).filter((path) => bucket.test(path))).toEqual([]);
});

test('every form of import is found', () => {
  const text = [
    "import type { A } from './a.js';",
    "import {\n  B,\n} from '../b/b.js';",
    "export { C } from './c.js';",
    "import './d.js';",
    "const e = await import('./e.js');",
    "const f = loadScript(import.meta.url, './f.lua', parse);",
    '-- @include ../g/g.lua',
    "import got from 'got';",
  ].join('\n');
  const file = { path: 'src/folder/file.ts', text };
  expect(importsOf(file).sort()).toEqual(
    [
      'got',
      'src/b/b.ts',
      'src/g/g.lua',
      'src/folder/a.ts',
      'src/folder/c.ts',
      'src/folder/d.ts',
      'src/folder/e.ts',
      'src/folder/f.lua',
    ].sort(),
  );
});

/** Each cycle of the graph once, as `a -> b -> a`. */
function cycles(nodes: readonly string[], next: (node: string) => readonly string[]): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) {
      found.push([...path.slice(path.indexOf(node)), node].join(' -> '));
      return;
    }
    if (done.has(node)) return;
    for (const following of next(node)) visit(following, [...path, node]);
    done.add(node);
  };
  for (const node of nodes) visit(node, []);
  return found;
}
