import type { LaneId } from '../base/redis/keys.js';
import type { Operator } from '../campaign/states/audit.js';
import type { RecordsInput } from './contract/input.js';
import type { OpenRecords, Records } from './records.js';

/**
 * The call records of an actor: what it requests, resolves, and downloads is recorded in the audit trail, unless it is invalid. `idOf`: the
 * id of a lane.
 */
export function auditedRecords(
  { check, close: _, ...records }: OpenRecords,
  by: Operator,
  idOf: (lane: string) => Promise<LaneId>,
): Records {
  const requested = async <Result>(input: RecordsInput, run: () => Promise<Result>): Promise<Result> => {
    const { from, to, lane: name } = input;
    const lane = name === undefined ? undefined : await idOf(name);
    return by.audited({ action: 'records.request', lane, details: { from, to } }, run);
  };
  const exported = <Result>(id: string, run: () => Promise<Result>): Promise<Result> =>
    by.audited({ action: 'records.export', details: { request: id } }, run);
  return {
    ...records,
    async download(id, options) {
      await check({ id }, options);
      return exported(id, () => records.download(id, options));
    },
    async request(input, options) {
      await check(input);
      return requested(input, () => records.request(input, options));
    },
    async fetch(wanted, options) {
      await check(wanted, options);
      const run = () => records.fetch(wanted, options);
      return 'id' in wanted ? exported(wanted.id, run) : requested(wanted, run);
    },
    resolve: (id, resolution, options) =>
      by.audited({ action: 'records.resolve', details: { request: id, as: resolution.as } }, () =>
        records.resolve(id, resolution, options),
      ),
  };
}
