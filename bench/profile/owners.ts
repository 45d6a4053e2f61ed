/** Pure: the owner of a function (package, folder, or part of Node), by its file. */

/** The location of a function in a CPU profile of V8. */
export interface Place {
  readonly functionName: string;
  /** A file's URL or path, `node:…`, or empty for built-in functions. */
  readonly url: string;
}

const FOLDERS: readonly (readonly [part: string, owner: string])[] = [
  ['/src/service/client/', 'volley: client of the service'],
  ['/src/engine/sending/', 'volley: sending'],
  ['/src/engine/lane/', 'volley: lane'],
  ['/src/engine/recipients/', 'volley: recipients and redis'],
  ['/src/base/redis/', 'volley: recipients and redis'],
  ['/src/', 'volley: the rest'],
  ['/workers/', 'volley: the rest'],
];

const NODE: readonly (readonly [part: RegExp, owner: string])[] = [
  [/^node:(_http|https?$|internal\/http)/, 'node: http'],
  [/^node:(net$|_tls|tls|internal\/(net|stream_base|tls))/, 'node: sockets'],
  [/^node:(stream|internal\/streams|buffer|internal\/buffer)/, 'node: streams'],
  [
    /^node:internal\/(timers|process\/task_queues|async_hooks|promise)|^node:timers/,
    'node: timers and tasks',
  ],
];

const BUILT_IN = new Map([
  ['(idle)', 'idle'],
  ['(garbage collector)', 'garbage collector'],
  ['(program)', 'outside JavaScript'],
]);

/** A package, a folder of Volley, a part of Node, or an activity of V8. */
export function ownerOf({ functionName, url }: Place): string {
  const builtIn = BUILT_IN.get(functionName);
  if (builtIn !== undefined) return builtIn;
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (name !== undefined && !name.startsWith('.cache')) return name;
  if (url.startsWith('node:')) return NODE.find(([part]) => part.test(url))?.[1] ?? 'node: the rest';
  return FOLDERS.find(([part]) => url.includes(part))?.[1] ?? 'built in';
}
