/**
 * The configuration cannot be used. It holds every fault that was found, not only the first; each names the setting
 * and what would be right, and none repeats a secret.
 */
export class ConfigError extends Error {
  /** Stable, for callers that tell errors apart without reading texts. */
  readonly code = 'ERR_VOLLEY_CONFIG';
  /** One sentence a fault. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['The configuration cannot be used:', ...problems.map((problem) => `  - ${problem}`)].join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
