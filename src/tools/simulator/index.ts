export type { Arrival, Outcome } from './arrivals.js';
export type { Answered, Ledger, LedgerEntry } from './ledger.js';
export { MAGIC_RECIPIENTS, type MagicName, magicNumber } from './magic-recipients.js';
export { type SimulatorOptions, SimulatorOptionsError } from './options.js';
export type { RecordsEntry } from './records.js';
export { type Simulator, type SimulatorDependencies, startSimulator } from './server.js';
export type { Summary } from './summary.js';
