import { describe, expect, test } from 'vitest';
import {
  checkInput,
  checkParameters,
  parameterValues,
  type RecordsInput,
} from '../../../src/call-records/contract/input.js';
import { CONTRACT, contractOf } from './contract.js';

const contract = contractOf(CONTRACT);
const NOW = Date.parse('2026-06-15T12:00:00Z');
const BASE = { from: '2026-01-01', to: '2026-01-31', parameters: { product: 'voice', format: 'csv' } };
const check = (change: Partial<RecordsInput>, limits: Partial<typeof contract.limits> = {}) =>
  checkInput({ ...BASE, ...change }, { ...contract, limits: { ...contract.limits, ...limits } }, NOW);
const withNumber = (number: string) => ({ parameters: { ...BASE.parameters, number } });

describe('The limits of the interface page', () => {
  test('Records begin on 2020-01-01', () => {
    expect(check({ from: '2020-01-01', to: '2020-01-01' }).from).toBe('2020-01-01');
    expect(() => check({ from: '2019-12-31', to: '2020-01-01' })).toThrow(
      'the service has call records from 2020-01-01 on; `from` is 2019-12-31',
    );
  });

  test('Records of Global Mobile Numbers begin on 2023-02-01', () => {
    const all = { globalMobile: true };
    expect(check({ ...all, from: '2023-02-01', to: '2023-02-02' }).from).toBe('2023-02-01');
    expect(() => check({ ...all, from: '2023-01-31', to: '2023-02-01' })).toThrow(
      'the service has call records of Global Mobile Numbers from 2023-02-01 on; `from` is 2023-01-31',
    );
  });

  test('A list says which numbers are Global Mobile Numbers, in any spelling', () => {
    const days = { from: '2021-01-01', to: '2021-01-02', globalMobile: ['+883 130 0001', '004612345'] };
    expect(() => check({ ...days, ...withNumber('+8831300001') })).toThrow('Global Mobile Numbers');
    expect(() => check({ ...days, ...withNumber('4612345') })).toThrow('Global Mobile Numbers');
    expect(check({ ...days, ...withNumber('+46123456') }).to).toBe('2021-01-02');
    expect(check(days).to).toBe('2021-01-02');
  });

  test('The contract may mark a parameter as Global Mobile Numbers', () => {
    const parameters = { product: 'global', format: 'csv' };
    expect(() => check({ from: '2022-01-01', to: '2022-01-02', parameters })).toThrow(
      'Global Mobile Numbers',
    );
  });
});

describe('The limits of the contract', () => {
  test('The first and the last day count', () => {
    expect(check({}).to).toBe('2026-01-31');
    expect(() => check({ to: '2026-02-01' })).toThrow(
      'the contract allows at most 31 days per request; these are 32',
    );
    expect(check({ to: '2026-12-31' }, { days: null }).to).toBe('2026-12-31');
  });

  test('A first day too long ago is refused, but not one that may be the same day elsewhere', () => {
    const limits = { ageDays: 10 };
    expect(check({ from: '2026-06-05', to: '2026-06-05' }, limits).from).toBe('2026-06-05');
    expect(check({ from: '2026-06-04', to: '2026-06-05' }, limits).from).toBe('2026-06-04');
    expect(() => check({ from: '2026-06-03', to: '2026-06-05' }, limits)).toThrow('at most 10 days ago');
  });

  test.each([
    [{ from: '2026-02-30' }, '`from` must be a day such as 2026-01-31'],
    [{ from: '2026-1-1' }, '`from` must be a day'],
    [{ to: 'tomorrow' }, '`to` must be a day'],
    [{ to: '2025-12-31' }, '`to` (2025-12-31) is before `from` (2026-01-01)'],
    [{ parameters: { format: 'csv' } }, 'the contract requires the parameter product'],
    [
      { parameters: { ...BASE.parameters, zons: '1' } },
      'the contract has no parameter zons; did you mean zone?',
    ],
    [{ parameters: { ...BASE.parameters, product: 'fax' } }, 'product must be one of voice, global'],
    [{ parameters: { ...BASE.parameters, zero: 'yes' } }, 'zero must be true or false'],
    [{ parameters: { ...BASE.parameters, number: '' } }, 'number must be a text'],
    [{ parameters: { ...BASE.parameters, constructor: '1' } }, 'the contract has no parameter constructor'],
    [{ key: ' ' }, 'a key has 1 to 200 characters'],
  ] as const)('%j is refused', (change, message) => {
    expect(() => check(change)).toThrow(message);
  });
});

test('A key is that of the content unless it is given', () => {
  const same = { parameters: { format: 'csv', product: 'voice' } };
  expect(check(same).key).toBe(check({}).key);
  expect(check({ to: '2026-01-30' }).key).not.toBe(check({}).key);
  expect(check({ key: 'a' }).key).not.toBe(check({ key: 'b' }).key);
});

test('The values of placeholders have their types and the parts of the days', () => {
  const parameters = checkParameters({ ...BASE.parameters, zero: 'false' }, contract);
  expect(parameterValues({ from: '2026-01-02', to: '2026-03-04', parameters }, contract)).toEqual({
    product: 'voice',
    format: 'csv',
    zero: false,
    number: undefined,
    zone: undefined,
    from: '2026-01-02',
    'from.year': '2026',
    'from.month': '01',
    'from.day': '02',
    to: '2026-03-04',
    'to.year': '2026',
    'to.month': '03',
    'to.day': '04',
  });
});
