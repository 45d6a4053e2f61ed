export type { RecordsEntry } from './records.js';
export { MAGIC_RECIPIENTS, type MagicName, magicNumber } from './rules/magic-recipients.js';
export { type SimulatorOptions, SimulatorOptionsError } from './rules/options.js';
export { type Simulator, type SimulatorDependencies, startSimulator } from './server.js';
export type { Arrival, Outcome } from './state/arrivals.js';
export type { Answered, Ledger, LedgerEntry } from './state/ledger.js';
export type { Summary } from './summary.js';
