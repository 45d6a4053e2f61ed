import { ConfigError } from '../../base/config/index.js';
import { counted } from '../../base/counted.js';
import type { Volley } from '../volley.js';
import { type Finding, fail, ok, warn } from './check.js';

/** Whether the contract of call records is valid, and whether an operator must resolve a request. */
export async function checkRecords({ records }: Volley): Promise<Finding[]> {
  const name = 'call records';
  try {
    if ((await records.contract()) === null) return [];
    const unknown = await records.list({ state: 'unknown' });
    if (unknown.length === 0) return [ok(name, 'the contract is valid')];
    return [
      warn(
        name,
        `${counted(unknown.length, 'request')} with an unknown outcome`,
        'Look them up at the service, then settle each as `volley records resolve --help` says. To list them: volley records list --state unknown',
      ),
    ];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) =>
      fail(name, problem, 'docs/call-records.md describes the contract.'),
    );
  }
}
