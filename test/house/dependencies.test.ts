import { expect, test } from 'vitest';
import { importsOf, type SourceFile, sourceFiles } from './sources.js';

/** Each folder and the folders it may import from. Every other import fails the test. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  // Foundations: time, the pure rules of a campaign, Redis connections and keys, configuration, events.
  clock: [],
  duration: [],
  'wrapped-text': [],
  version: [],
  'exit-codes': [],
  'host-header': [],
  campaign: [],
  redis: ['clock'],
  // What each version of the service documents, as data.
  profiles: ['campaign'],
  config: ['clock', 'duration', 'version', 'campaign', 'redis', 'profiles'],
  events: ['clock', 'duration', 'wrapped-text', 'campaign', 'config'],
  // `gateway` and `auth` do not know each other: the token cache receives the login function as a parameter.
  gateway: ['clock', 'campaign', 'config', 'events', 'profiles'],
  auth: ['clock', 'campaign', 'config', 'events', 'redis'],
  recipients: ['campaign', 'redis'],
  // The current state of a lane, then the stages of a campaign, in their order.
  lane: ['clock', 'campaign', 'profiles', 'config', 'events', 'redis', 'gateway', 'auth', 'recipients'],
  import: ['clock', 'duration', 'campaign', 'config', 'events', 'redis', 'recipients', 'lane'],
  sending: ['clock', 'campaign', 'events', 'redis', 'profiles', 'gateway', 'recipients', 'lane'],
  notifications: [
    'clock',
    'profiles',
    'campaign',
    'config',
    'events',
    'redis',
    'gateway',
    'recipients',
    'lane',
    'sending',
  ],
  'follow-up': ['campaign', 'events', 'redis', 'gateway', 'recipients', 'lane', 'sending', 'notifications'],
  recovery: ['clock', 'campaign', 'events', 'redis', 'recipients', 'lane', 'sending', 'follow-up'],
  reporting: [
    'clock',
    'campaign',
    'config',
    'events',
    'redis',
    'recipients',
    'lane',
    'sending',
    'notifications',
    'recovery',
  ],
  outbox: ['clock', 'duration', 'campaign', 'config', 'redis', 'recipients', 'lane', 'import', 'reporting'],
  // Recurring campaigns: they create campaigns, as a client does.
  schedules: [
    'clock',
    'duration',
    'campaign',
    'events',
    'redis',
    'recipients',
    'lane',
    'import',
    'reporting',
  ],
  // Call records, a part of the service of their own.
  records: ['clock', 'duration', 'campaign', 'config', 'events', 'redis', 'gateway', 'auth', 'lane'],
  // Tests a service against the interface page.
  conformance: [
    'clock',
    'duration',
    'campaign',
    'profiles',
    'config',
    'events',
    'redis',
    'gateway',
    'auth',
    'lane',
  ],
  access: ['clock', 'duration', 'campaign', 'events', 'redis', 'auth', 'lane'],
  volley: [
    'access',
    'auth',
    'campaign',
    'conformance',
    'events',
    'import',
    'lane',
    'sending',
    'notifications',
    'outbox',
    'recovery',
    'outbox',
    'records',
    'schedules',
    'reporting',
  ],
  worker: [
    'clock',
    'profiles',
    'config',
    'events',
    'redis',
    'gateway',
    'lane',
    'sending',
    'notifications',
    'follow-up',
    'recovery',
    'schedules',
    'volley',
  ],
  // The composition root, then the entry points.
  runtime: [
    'clock',
    'profiles',
    'campaign',
    'config',
    'events',
    'redis',
    'gateway',
    'recipients',
    'lane',
    'import',
    'sending',
    'notifications',
    'recovery',
    'outbox',
    'records',
    'schedules',
    'reporting',
    'conformance',
    'access',
    'volley',
    'worker',
  ],
  index: [
    'access',
    'campaign',
    'config',
    'conformance',
    'events',
    'import',
    'notifications',
    'outbox',
    'records',
    'schedules',
    'recovery',
    'reporting',
    'volley',
    'runtime',
  ],
  // Runs a process: `volley up`, `work`, and `serve`, and the shells in workers/.
  lifecycle: [
    'version',
    'exit-codes',
    'config',
    'events',
    'recovery',
    'volley',
    'runtime',
    'http',
    'metrics',
  ],
  metrics: ['clock', 'version', 'host-header', 'config', 'events', 'reporting'],
  http: [
    'clock',
    'duration',
    'version',
    'campaign',
    'config',
    'events',
    'redis',
    'import',
    'notifications',
    'outbox',
    'records',
    'schedules',
    'reporting',
    'volley',
    'metrics',
  ],
  // `volley up` starts a Redis server, and `--simulator` starts the simulator.
  cli: [
    'clock',
    'profiles',
    'duration',
    'wrapped-text',
    'version',
    'exit-codes',
    'campaign',
    'config',
    'conformance',
    'profiles',
    'events',
    'redis',
    'gateway',
    'import',
    'notifications',
    'outbox',
    'records',
    'schedules',
    'recovery',
    'reporting',
    'access',
    'volley',
    'runtime',
    'lifecycle',
    'simulator',
  ],
  workers: ['exit-codes', 'config', 'lifecycle', 'index'],
  // The simulator implements the interface on its own, so that it cannot share a misreading with the client.
  simulator: ['clock', 'host-header'],
};

/** Libraries that only some folders may import. */
const IMPORTED_IN: Readonly<Record<string, readonly string[]>> = {
  got: ['gateway'],
  'request-filtering-agent': ['gateway'],
  ioredis: ['redis'],
  bullmq: ['lane'],
  pino: ['events'],
  dotenv: ['config'],
  commander: ['cli'],
  fastify: ['http'],
  'fastify-type-provider-zod': ['http'],
  '@fastify': ['http'],
  'prom-client': ['metrics'],
  testcontainers: ['redis'],
};

const files = sourceFiles(['src', 'workers'], ['.ts', '.lua']);

/** `src/lane/ledger.lua` → `lane`, `src/volley.ts` → `volley`, `workers/send.ts` → `workers`. */
function folderOf(path: string): string {
  return /^src\/([^/.]+)/.exec(path)?.[1] ?? path.replace(/\/.*/, '');
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

const filesIn = (folder: string): SourceFile[] => files.filter(({ path }) => folderOf(path) === folder);

test('every source file is in a folder that the table of allowed imports lists', () => {
  expect(files.map(({ path }) => path).filter((path) => !(folderOf(path) in MAY_IMPORT))).toEqual([]);
});

for (const [folder, imported] of Object.entries(MAY_IMPORT)) {
  test(`${folder} imports only from ${['itself', ...imported].join(', ')}`, () => {
    const allowed = [folder, ...imported];
    expect(
      forbiddenImports(filesIn(folder), (path) => isOurs(path) && !allowed.includes(folderOf(path))),
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
  expect(forbiddenImports(filesIn('campaign'), (name) => name.startsWith('node:'))).toEqual([]);
});

test('the folders import each other in one direction, without a cycle', () => {
  expect(cycles(Object.keys(MAY_IMPORT), (folder) => MAY_IMPORT[folder] ?? [])).toEqual([]);
});

test('no file imports itself through other files, not even for a type', () => {
  const imports = new Map(files.map((file) => [file.path, importsOf(file).filter(isOurs)]));
  expect(cycles([...imports.keys()], (path) => imports.get(path) ?? [])).toEqual([]);
});

test('no folder or file is a bucket such as utils, helpers, or types', () => {
  const bucket = /(^|\/)(utils?|helpers?|common|types?|misc|shared|interfaces|enums)(\/|\.[a-z.]+$)/;
  const everywhere = sourceFiles(['src', 'workers', 'test', 'bench'], ['.ts', '.lua']);
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
