import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillForm, fillHeaders, fillJson, fillPath } from '../../../src/call-records/contract/template.js';

const filled = fc.string({ unit: 'grapheme', minLength: 1 });

describe('A path', () => {
  test('has its values URL-escaped', () => {
    expect(fillPath('/a/{x}/b', { x: "O'Brien & co/../ü?#" })).toBe(
      '/a/O%27Brien%20%26%20co%2F..%2F%C3%BC%3F%23/b',
    );
  });

  test('gives every value back to a server that decodes it', () => {
    fc.assert(
      fc.property(filled, (x) => {
        fc.pre(!/^\.{1,2}$/.test(x));
        const url = new URL(`http://host${fillPath('/a/{x}/b?c={x}', { x })}`);
        const [, first, middle = '', last] = url.pathname.split('/');
        expect([first, decodeURIComponent(middle), last]).toEqual(['a', x, 'b']);
        expect(url.searchParams.get('c')).toBe(x);
      }),
    );
  });

  test.each(['.', '..', '%2e%2e'])('refuses a value that would be a dot segment: %s', (x) => {
    // An escaped percent sign is harmless; the dots are not.
    if (x.startsWith('%')) expect(fillPath('/a/{x}', { x })).toBe('/a/%252e%252e');
    else expect(() => fillPath('/a/{x}', { x })).toThrow('a dot segment of the path');
  });

  test('refuses an empty value and half a character', () => {
    expect(() => fillPath('/a/{x}', { x: '' })).toThrow('{x} would become nothing');
    expect(() => fillPath('/a/{x}', { x: '\ud800' })).toThrow('{x} would become half a character');
  });

  test('leaves out the pairs of its query whose parameter is not set', () => {
    expect(fillPath('/a?b={b}&c={c}&d=1', { b: undefined, c: 'x y' })).toBe('/a?c=x%20y&d=1');
    expect(fillPath('/a?b={b}', {})).toBe('/a');
  });
});

describe('A JSON body', () => {
  test('keeps the type of a value that stands alone, and leaves out what is not set', () => {
    const template = {
      a: '{flag}',
      b: '{count}',
      c: ['{x}', '{none}', 5, null],
      d: 'n {count}',
      e: '{none}',
    };
    expect(fillJson(template, { flag: false, count: 3, x: 'y', none: undefined })).toBe(
      '{"a":false,"b":3,"c":["y",5,null],"d":"n 3"}',
    );
  });

  test('gives every value back to a server that parses it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (x) => {
        expect(JSON.parse(fillJson({ a: { b: '{x}', c: 'is {x}.' } }, { x }))).toEqual({
          a: { b: x, c: `is ${x}.` },
        });
      }),
    );
  });
});

test('A form gives every value back to a server that parses it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (x) => {
      const read = new URLSearchParams(fillForm({ a: '{x}', b: '1 {x}', c: '{none}' }, { x }));
      expect([...read]).toEqual([
        ['a', x],
        ['b', `1 ${x}`],
      ]);
    }),
  );
});

describe('A header', () => {
  test('has its value and a name in lower case', () => {
    expect(fillHeaders({ 'X-Authorization': 'Bearer {accessToken}' }, { accessToken: 't' })).toEqual({
      'x-authorization': 'Bearer t',
    });
  });

  test.each(['a\r\nX-Evil: 1', 'a\n', '\r', 'a\0b', 'ä', '\u2028'])('refuses the value %j', (x) => {
    expect(() => fillHeaders({ a: 'b {x}' }, { x })).toThrow('no header may contain');
  });
});

test('A value that looks like a placeholder is not filled again', () => {
  expect(fillPath('/{a}/{b}', { a: '{b}', b: 'x' })).toBe('/%7Bb%7D/x');
  expect(fillJson({ a: '{a}' }, { a: '{b}', b: 'x' })).toBe('{"a":"{b}"}');
});
