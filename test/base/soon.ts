/** How long a test waits for what must come: longer than a machine takes that is ten times as slow, and shorter than a test may take. */
export const SOON = { timeout: 60_000 };
