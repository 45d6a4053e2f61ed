/**
 * Preloaded with `--import` into every worker process, including Volley's. It adds the worker's name as a header to each
 * request, so that the bench can kill a busy one; counts the commands sent to Redis (../send/meter.ts); and ends the process
 * with the bench.
 */
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import '../send/meter.js';

export const WORKER_HEADER = 'x-bench-worker';

const worker = process.env['BENCH_WORKER'];
if (worker !== undefined) {
  http.request = new Proxy(http.request, {
    apply(target, self, args) {
      const request: http.ClientRequest = Reflect.apply(target, self, args);
      request.setHeader(WORKER_HEADER, worker);
      return request;
    },
  });
  syncBuiltinESMExports();
  // A worker that is done may end.
  process.channel?.unref();
}
