import { EXIT } from '../exit-codes.js';
import { listenForStop } from '../lifecycle.js';
import { createContext } from './context.js';
import { runDemo } from './demo/run.js';

const { env, stdin, stdout, stderr } = process;
const context = createContext({ env, cwd: process.cwd(), stdin, stdout, stderr, clock: Date.now }, false);
const stop = listenForStop();
try {
  await runDemo(context, stop.signal);
} catch (error) {
  if (!stop.signal.aborted) context.fail(error);
}
stop.dispose();
process.exitCode = stop.signal.aborted ? EXIT.interrupted : context.exit();
