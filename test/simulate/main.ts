import { replay, runWorlds } from './fleet.js';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6399';
const [from = '0', count = '100'] = process.argv.slice(2);
if (count === 'trace') {
  const it = await replay(url, Number(from));
  console.log(it.trace.lines.slice(-Number(process.argv[4] ?? 200)).join('\n'));
  console.log(it.steps, it.virtualMs, it.trace.digest, it.violation?.title, it.violation?.message);
} else {
  const began = performance.now();
  const sizes: number[] = [];
  let [steps, done, bad] = [0, 0, 0];
  const kinds = new Map<string, number>();
  await runWorlds({
    redisUrl: url,
    seeds: Array.from({ length: Number(count) }, (_, at) => Number(from) + at),
    onOutcome(it) {
      steps += it.steps;
      sizes.push(it.steps);
      done += 1;
      if (it.violation) {
        bad += 1;
        const k = `${it.violation.title}: ${it.violation.message
          .split('\n')[0]
          ?.replace(/[0-9]+/g, '#')
          .slice(0, 150)}`;
        if (!kinds.has(k))
          console.log(it.seed, it.violation.title, it.violation.message.slice(0, 600), it.steps);
        kinds.set(k, (kinds.get(k) ?? 0) + 1);
      }
      return undefined;
    },
  });
  console.log([...kinds].sort((a, b) => b[1] - a[1]).slice(0, 30));
  sizes.sort((a, b) => a - b);
  console.log([0.1, 0.5, 0.75, 0.9, 0.99].map((q) => sizes[Math.floor(q * sizes.length)]));
  console.log({ done, bad, steps, ms: performance.now() - began });
}
