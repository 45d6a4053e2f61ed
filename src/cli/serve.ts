import type { Command } from 'commander';
import { action, examples } from './action.js';
import type { Context } from './context.js';
import { listenForInterrupt } from './interrupt.js';
import { findLocal, mustAnswer } from './open.js';
import { lanesWords, liveUntilTold, serving } from './process-lifecycle.js';

/** Adds `volley serve`. */
export function addServe(program: Command, context: Context): void {
  program
    .command('serve')
    .summary('serve the HTTP API in this process')
    .description(
      'Serves the HTTP API in this process until it is told to end, at HTTP_HOST and HTTP_PORT. It sends nothing: workers do. It needs a key, see `volley keys`.',
    )
    .addHelpText('after', examples('serve'))
    .action(action(context, () => serve(context)));
}

async function serve(context: Context): Promise<undefined> {
  const { config, simulator } = await findLocal(context);
  await mustAnswer(config.redisUrl);
  const interrupt = listenForInterrupt();
  try {
    await liveUntilTold(context, {
      config,
      role: 'http',
      parts: [serving],
      interrupt,
      onReady: (said) => {
        for (const line of said) context.say(line);
        context.say(
          `For ${lanesWords(config)}${simulator === undefined ? '' : '; a simulator stands in for the service, no text is sent'}.`,
        );
      },
    });
  } finally {
    interrupt.dispose();
  }
}
