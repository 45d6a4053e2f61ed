/*
 * The parts of the suite. `npm test` runs `quick`, which takes minutes; `npm run test:all` runs every file. A file that no other part names
 * is in `quick`.
 */

/**
 * Files that start, kill, or change servers and processes of their own, or wait for servers which fail over, and the scripted worlds; some
 * with one process, and one with a kill, `attacks/kill`, are in `quick`.
 */
const PROCESSES = [
  'test/end-to-end/*.test.ts',
  'test/faults/attacks/attacks*.test.ts',
  'test/simulate/{jobs.property,scripted/worlds.nightly}.test.ts',
  'test/app/forget/killed-forget.test.ts',
  'test/{call-records,engine,intake,reporting}/**/*kill.test.ts',
  'test/base/redis/{acl,cluster,cluster-connection,durability,embedded,file-replay,full}.test.ts',
  'test/base/redis/{private-server,rediss,sentinel,watch,servers/private-redis}.test.ts',
  'test/engine/{recovery/rewrite-file,scripts/settable-clock,suppression/suppression-commands}.test.ts',
  'test/service/auth/{fleet,unrecorded-refusal}.test.ts',
  'test/surfaces/http/server/redis-lost.test.ts',
  'test/surfaces/cli/{startup,end-to-end,open/up-file,machine/serve,machine/up,machine/up-start,watch/watch}.test.ts',
  'test/surfaces/metrics/catalogue.test.ts',
];
/** Files that need a browser. */
const CHROMIUM = ['test/end-to-end/console/*.test.ts'];
/** Files that measure how long something takes: they run last, one after another. */
const ALONE = ['test/**/*.alone.test.ts'];
/** Files with long runs and planted bugs. */
const NIGHTLY_ONLY = ['test/**/*.nightly.test.ts'];

/** Whether the files with long runs and planted bugs run, too: in `npm run test:all` and `.ci/nightly`. */
export const NIGHTLY = process.env['NIGHTLY'] === '1';

/** Which files a part has. */
interface Files {
  readonly include: string[];
  readonly exclude: string[];
}

const ALL = ['test/**/*.test.ts'];
const parts = {
  quick: { include: ALL, exclude: [...PROCESSES, ...CHROMIUM, ...ALONE] },
  processes: { include: PROCESSES, exclude: ALONE },
  chromium: { include: CHROMIUM, exclude: ALONE },
  alone: { include: ALONE, exclude: [] },
  together: { include: ALL, exclude: ALONE },
  all: { include: ALL, exclude: [] },
} satisfies Record<string, Files>;

/** The files of the part that TESTS names; by default all, so that `npx vitest run FILE` runs any file. */
export function filesOf(part = process.env['TESTS'] ?? 'all'): Files {
  const files = Object.entries(parts).find(([name]) => name === part)?.[1];
  if (files === undefined) throw new Error(`TESTS: expected ${Object.keys(parts).join(', ')}, got ${part}`);
  return NIGHTLY ? files : { ...files, exclude: [...files.exclude, ...NIGHTLY_ONLY] };
}
