import { systemClock } from '../clock.js';
import { createContext } from './context.js';
import { runDemo } from './demo/run.js';
import { EXIT } from './exit.js';
import { listenForInterrupt } from './interrupt.js';

const { env, stdin, stdout, stderr } = process;
const context = createContext({ env, cwd: process.cwd(), stdin, stdout, stderr, clock: systemClock }, false);
const interrupt = listenForInterrupt();
try {
  await runDemo(context, interrupt.signal);
} catch (error) {
  if (!interrupt.signal.aborted) context.fail(error);
}
interrupt.dispose();
process.exitCode = interrupt.signal.aborted ? EXIT.interrupted : context.exit();
