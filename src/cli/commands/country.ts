import type { Command } from 'commander';

/**
 * Adds `--country`. Its value is checked against the metadata of all countries, which takes long to load, so it is
 * checked only when the option is used.
 */
export function withCountry(command: Command): Command {
  return command
    .option('--country <code>', 'country of numbers in national format (default: DEFAULT_COUNTRY)')
    .hook('preAction', async (_parent, called) => {
      const text: unknown = called.getOptionValue('country');
      if (typeof text !== 'string') return;
      const { numberReader } = await import('../../campaign/number.js');
      const code = text.toUpperCase();
      try {
        numberReader(code);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        called.error(`error: option '--country <code>' argument '${text}' is invalid. ${reason}.`, {
          code: 'commander.invalidArgument',
        });
      }
      called.setOptionValue('country', code);
    });
}
