/**
 * Runs a bench by its name, `peers` without one:
 *
 *   npm run bench -- [name] [arguments of the bench]
 *
 * bench/README.md describes them and their figures.
 */
const BENCHES = {
  peers: () => import('./peers.js'),
  send: () => import('./send.js'),
  import: () => import('./import.js'),
  http: () => import('./http.js'),
  idle: () => import('./idle.js'),
  outbox: () => import('./outbox.js'),
  startup: () => import('./startup.js'),
} as const;

const [, , name = ''] = process.argv;
const isNamed = Object.hasOwn(BENCHES, name);
if (isNamed || name === '' || name.startsWith('-')) {
  // A bench reads its own arguments.
  if (isNamed) process.argv.splice(2, 1);
  await BENCHES[isNamed ? (name as keyof typeof BENCHES) : 'peers']();
} else {
  process.stderr.write(`There is no bench "${name}". The benches are ${Object.keys(BENCHES).join(', ')}.\n`);
  process.exitCode = 2;
}
