import { freePort } from '../../src/base/redis/private-server.js';
import { type Program, startProgram } from './program.js';

const READY_WITHIN_MS = 30_000;

/** Callback settings with a free port. The service gets this address before the process that listens there is started. */
export async function callbackSettings(): Promise<Readonly<Record<string, string>>> {
  const port = await freePort();
  return {
    HTTP_PORT: String(port),
    CALLBACK_URL: `http://127.0.0.1:${port}/notifications`,
    CALLBACK_SECURITY_TOKEN: 'a-token-that-only-these-tests-know',
  };
}

/** Starts the HTTP worker process and waits until it is ready. */
export async function startReceiver(environment: Readonly<Record<string, string>>): Promise<Program> {
  const program = startProgram('workers/http.js', environment);
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!program.log.some((line) => line.includes('"process.ready"'))) {
    if (!program.isRunning || Date.now() > deadline) {
      throw new Error(`the HTTP process did not become ready: ${program.log.join('\n')}`);
    }
    await new Promise((later) => setTimeout(later, 20));
  }
  return program;
}
