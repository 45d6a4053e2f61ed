import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createDigests, createSeal } from '../../../src/service/auth/seal.js';

test('a sealed token is unreadable and opens only with the same key', () => {
  const seal = createSeal('one key');
  const sealed = seal.close('the token', 'here');
  expect(Buffer.from(sealed.slice(4), 'base64').toString('latin1')).not.toContain('the token');
  expect(createSeal('one key').open(sealed, 'here')).toBe('the token');
  expect(() => createSeal('another key').open(sealed, 'here')).toThrow(/SECRETS_KEY/);
});

test('the same token is sealed differently each time', () => {
  const seal = createSeal('one key');
  expect(seal.close('the token', 'here')).not.toBe(seal.close('the token', 'here'));
});

test('a sealed token that was changed, truncated, or moved to another account does not open', () => {
  const seal = createSeal('one key');
  const sealed = seal.close('the token', 'here');
  const bytes = Buffer.from(sealed.slice(4), 'base64');
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  expect(() => seal.open(`gcm:${bytes.toString('base64')}`, 'here')).toThrow(/does not open/);
  expect(() => seal.open(sealed.slice(0, 16), 'here')).toThrow(/does not open/);
  expect(() => seal.open(sealed, 'there')).toThrow(/does not open/);
});

test('a fingerprint identifies a key without revealing it', () => {
  const [one, other] = [createSeal('one key'), createSeal('another key')];
  expect(one.fingerprint).toBe(createSeal('one key').fingerprint);
  expect(one.fingerprint).not.toBe(other.fingerprint);
  expect(one.fingerprint).toMatch(/^[0-9a-f]{16}$/);
});

test('with a key, a token that is not encrypted does not open', () => {
  expect(() => createSeal('one key').open('the token', 'here')).toThrow(
    'does not open with this SECRETS_KEY',
  );
});

test('without a key, tokens are stored in the clear', () => {
  const seal = createSeal(undefined);
  expect(seal.fingerprint).toBe('');
  expect(seal.open(seal.close('the token', 'here'), 'here')).toBe('the token');
});

test('a token of the previous key opens', () => {
  const next = createSeal('next key', 'one key');
  expect(next.open(createSeal('one key').close('the token', 'here'), 'here')).toBe('the token');
  expect(next.fingerprints).toEqual([next.fingerprint, createSeal('one key').fingerprint]);
  expect(() => next.open(createSeal('a third key').close('the token', 'here'), 'here')).toThrow(
    /SECRETS_KEY/,
  );
});

test('digests of two purposes have keys of their own', () => {
  const [one, another] = [createDigests('key', undefined, 'one'), createDigests('key', undefined, 'another')];
  expect(one.makerOf('text', another.of('text'))).toBeNull();
});

test('a digest says whether the current key or the previous one has made it', () => {
  const digests = createDigests('next key', 'one key', 'purpose');
  expect(digests.makerOf('text', digests.of('text'))).toBe('current');
  expect(digests.makerOf('text', createDigests('one key', undefined, 'purpose').of('text'))).toBe('previous');
  expect(digests.makerOf('text', createDigests('other', undefined, 'purpose').of('text'))).toBeNull();
  expect(digests.makerOf('another text', digests.of('text'))).toBeNull();
  const plain = createDigests(undefined, undefined, 'purpose');
  expect(plain.of('text')).toBe(createHash('sha256').update('text').digest('base64url'));
  expect(digests.makerOf('text', plain.of('text'))).toBeNull();
});
