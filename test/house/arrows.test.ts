import { expect, test } from 'vitest';
import { namedBy, type SourceFile, sourceFiles } from './sources.js';

/** Each room and the rooms it may know. Whatever is not written here is not allowed. */
const MAY_KNOW: Readonly<Record<string, readonly string[]>> = {
  // What the words mean, what time it is, where the keys lie.
  clock: [],
  campaign: ['clock'],
  redis: ['clock'],
  config: ['clock', 'campaign', 'redis'],
  events: ['clock', 'campaign', 'config'],
  // `gateway` and `auth` do not know each other: the token cache receives the login function as a parameter.
  gateway: ['clock', 'campaign', 'config', 'events'],
  auth: ['clock', 'campaign', 'config', 'events', 'redis'],
  recipients: ['redis'],
  // The stages of a campaign, in their order.
  lane: [
    'clock',
    'campaign',
    'config',
    'events',
    'redis',
    'gateway',
    'auth',
    'recipients',
    'sending',
    'notifications',
    'recovery',
    'reporting',
    'volley',
  ],
  import: ['clock', 'campaign', 'config', 'events', 'redis', 'recipients', 'lane', 'volley'],
  sending: ['clock', 'campaign', 'redis', 'gateway', 'recipients', 'lane', 'follow-up', 'recovery', 'volley'],
  notifications: [
    'clock',
    'campaign',
    'config',
    'events',
    'redis',
    'gateway',
    'recipients',
    'lane',
    'sending',
  ],
  'follow-up': ['campaign', 'events', 'redis', 'gateway', 'lane', 'sending', 'recovery'],
  recovery: ['clock', 'events', 'redis', 'lane', 'sending'],
  reporting: [
    'clock',
    'campaign',
    'config',
    'events',
    'redis',
    'recipients',
    'lane',
    'notifications',
    'recovery',
    'volley',
  ],
  access: ['clock', 'campaign', 'redis', 'lane', 'volley'],
  volley: ['auth', 'campaign', 'events', 'import', 'notifications', 'recovery', 'reporting'],
  worker: [
    'clock',
    'config',
    'events',
    'redis',
    'gateway',
    'lane',
    'sending',
    'follow-up',
    'recovery',
    'volley',
  ],
  // What puts it together, then the entry points.
  runtime: [
    'clock',
    'campaign',
    'config',
    'events',
    'redis',
    'gateway',
    'recipients',
    'lane',
    'import',
    'notifications',
    'recovery',
    'reporting',
    'access',
    'volley',
    'worker',
  ],
  index: [
    'campaign',
    'config',
    'events',
    'import',
    'notifications',
    'recovery',
    'reporting',
    'volley',
    'runtime',
  ],
  metrics: ['clock', 'config', 'events', 'reporting', 'volley'],
  http: [
    'clock',
    'campaign',
    'config',
    'events',
    'redis',
    'import',
    'notifications',
    'reporting',
    'volley',
    'metrics',
  ],
  // `volley up` brings a Redis along, and `--simulator` the stand-in.
  cli: [
    'clock',
    'campaign',
    'config',
    'events',
    'redis',
    'import',
    'notifications',
    'recovery',
    'reporting',
    'volley',
    'runtime',
    'http',
    'metrics',
    'simulator',
  ],
  workers: ['config', 'events', 'recovery', 'volley', 'runtime', 'index', 'http', 'metrics'],
  // It reads the interface page for itself, or it and the client would misread it alike.
  simulator: ['clock'],
};

/** Libraries that stand for a task, and the rooms whose task it is. */
const AT_HOME_IN: Readonly<Record<string, readonly string[]>> = {
  got: ['gateway'],
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

/** `src/lane/ledger.lua` lies in `quota`, `src/config/index.ts` in `config`, `workers/send.ts` in `workers`. */
function roomOf(path: string): string {
  return /^src\/([^/.]+)/.exec(path)?.[1] ?? path.replace(/\/.*/, '');
}

const isOurs = (name: string): boolean => /^(src|workers|test)\//.test(name);

/** `file -> what it names`, for every arrow of these files that is not as it should be. */
function arrows(from: readonly SourceFile[], wrong: (named: string, room: string) => boolean): string[] {
  return from.flatMap((file) =>
    namedBy(file)
      .filter((named) => wrong(named, roomOf(file.path)))
      .map((named) => `${file.path} -> ${named}`),
  );
}

const inRoom = (room: string): SourceFile[] => files.filter(({ path }) => roomOf(path) === room);

test('every file lies in a room that has a line in the table', () => {
  expect(files.map(({ path }) => path).filter((path) => !(roomOf(path) in MAY_KNOW))).toEqual([]);
});

for (const [room, known] of Object.entries(MAY_KNOW)) {
  test(`${room} knows ${['itself', ...known].join(', ')} and no other room`, () => {
    const allowed = [room, ...known];
    expect(arrows(inRoom(room), (named) => isOurs(named) && !allowed.includes(roomOf(named)))).toEqual([]);
  });
}

for (const [library, rooms] of Object.entries(AT_HOME_IN)) {
  test(`${library} is imported in ${rooms.join(' and ')} and nowhere else`, () => {
    const isLibrary = (named: string): boolean => named === library || named.startsWith(`${library}/`);
    expect(arrows(files, (named, room) => isLibrary(named) && !rooms.includes(room))).toEqual([]);
  });
}

test('what a campaign means needs neither the machine nor the network', () => {
  expect(arrows(inRoom('campaign'), (named) => named.startsWith('node:'))).toEqual([]);
});

test('the lines of the table form no circle', () => {
  const found = circles(Object.keys(MAY_KNOW), (room) => MAY_KNOW[room] ?? []);
  // The move to stages has left these; cutting them comes next.
  const left = ['lane', 'sending', 'recovery', 'notifications', 'follow-up', 'reporting', 'volley', 'import'];
  expect(found.filter((circle) => circle.split(' -> ').some((room) => !left.includes(room)))).toEqual([]);
});

test('no file names itself by way of others, not even for a type', () => {
  const named = new Map(files.map((file) => [file.path, namedBy(file).filter(isOurs)]));
  expect(circles([...named.keys()], (path) => named.get(path) ?? [])).toEqual([]);
});

test('no folder or file is a bucket for things that have nothing in common but their kind', () => {
  const bucket = /(^|\/)(utils?|helpers?|common|types?|misc|shared|interfaces|enums)(\/|\.[a-z.]+$)/;
  const everywhere = sourceFiles(['src', 'workers', 'test', 'bench'], ['.ts', '.lua']);
  expect(everywhere.map(({ path }) => path).filter((path) => bucket.test(path))).toEqual([]);
});

test('imports are seen in each way they can be written', () => {
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
  const file = { path: 'src/room/file.ts', text };
  expect(namedBy(file).sort()).toEqual(
    [
      'got',
      'src/b/b.ts',
      'src/g/g.lua',
      'src/room/a.ts',
      'src/room/c.ts',
      'src/room/d.ts',
      'src/room/e.ts',
      'src/room/f.lua',
    ].sort(),
  );
});

/** Each circle among the nodes once, as `a -> b -> a`. */
function circles(nodes: readonly string[], next: (node: string) => readonly string[]): string[] {
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
