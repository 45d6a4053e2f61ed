import { parseArgs } from 'node:util';
import { startSimulator } from './server.js';

/** How long pending replies may take after a signal. */
const DRAIN_MS = 5_000;

const { values } = parseArgs({
  options: { host: { type: 'string' }, port: { type: 'string' }, options: { type: 'string', default: '{}' } },
});

const simulator = await startSimulator({
  ...JSON.parse(values.options),
  ...(values.host === undefined ? {} : { host: values.host }),
  ...(values.port === undefined ? {} : { port: Number(values.port) }),
});

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void simulator.close(DRAIN_MS));

const { messagingBaseUrl, accountBaseUrl, v3, controlToken } = simulator;
console.log(JSON.stringify({ messagingBaseUrl, accountBaseUrl, v3, controlToken }));
