// How a CommonJS file imports the package under `module: node16`, which has no `require` of ES modules.
export async function version(): Promise<string> {
  const { loadConfig } = await import('volley');
  return loadConfig({}).redisPrefix;
}
