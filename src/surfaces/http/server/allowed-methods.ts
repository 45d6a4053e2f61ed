import type { FastifyInstance } from 'fastify';

/**
 * Collects the methods of all routes that are registered after this call. Returns a function that lists those of an address; none
 * if no route has it, or only routes that must not be found.
 */
export function collectMethods(app: FastifyInstance): (url: string) => readonly string[] {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.isSecret === true) return;
    const methods = methodsOf.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    methodsOf.set(url, methods);
  });
  return (url) => {
    const [path = ''] = url.split('?');
    const steps = path.split('/');
    const matching = [...methodsOf].filter(([pattern]) => matches(pattern.split('/'), steps));
    return [...new Set(matching.flatMap(([, methods]) => [...methods]))].sort();
  };
}

/** Whether an address has the steps of a pattern, in which `:name` stands for any step. */
function matches(pattern: readonly string[], steps: readonly string[]): boolean {
  return (
    pattern.length === steps.length &&
    pattern.every((own, at) => own === steps[at] || (own.startsWith(':') && steps[at] !== ''))
  );
}
