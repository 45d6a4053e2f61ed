import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate, type Template } from '../../../src/campaign/text/template.js';

const columns = ['to', 'name', 'first name', 'City'];

function compiled(text: string, names: readonly string[] = columns): Template {
  const outcome = compileTemplate(text, names);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.template;
}

function refusal(text: string, names: readonly string[] = columns): string {
  const outcome = compileTemplate(text, names);
  if (outcome.ok) throw new Error('the message was accepted');
  return outcome.reason;
}

describe('A rendered message', () => {
  it('contains the values of its row, byte for byte', () => {
    const values = ['+45', 'O\'Brien & Søn <"x">', 'Anna Lise', 'Århus {{name}}'];
    expect(compiled('Hi {{name}} / {{ first name }} of {{\tCity }}!').render(values)).toBe(
      'Hi O\'Brien & Søn <"x"> / Anna Lise of Århus {{name}}!',
    );
  });

  it('keeps every space and line break of the template', () => {
    const text = '  \n{{name}}\n\n  {{name}}  \r\n\t';
    expect(compiled(text).render(['', 'A', '', ''])).toBe('  \nA\n\n  A  \r\n\t');
  });

  it('uses a column whose name differs only in case', () => {
    expect(compiled('{{NAME}} {{city}}').placeholders).toEqual(['name', 'City']);
  });

  it('prefers a column with exactly the same name', () => {
    expect(compiled('{{Name}}', ['name', 'Name']).placeholders).toEqual(['Name']);
  });

  it('is the same for all recipients if there are no placeholders', () => {
    const template = compiled('20% off { today } }} only');
    expect(template.placeholders).toEqual([]);
    expect(template.render([])).toBe('20% off { today } }} only');
  });

  it('joins its pieces and values, whatever they are', () => {
    const plain = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('{'));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(plain, fc.constantFrom('name', 'City'))),
        fc.string({ minLength: 1 }),
        (pieces, value) => {
          fc.pre(value.trim() !== '');
          const text = pieces.map(([before, name]) => `${before}{{${name}}}`).join('');
          const expected = pieces.map(([before]) => `${before}${value}`).join('');
          expect(compiled(text).render(['', value, '', value])).toBe(expected);
        },
      ),
    );
  });
});

describe('A missing value', () => {
  it('is reported by its column', () => {
    const template = compiled('Hi {{name}} of {{city}}');
    expect(template.missing(['', 'Anna', '', 'Ry'])).toBeNull();
    expect(template.missing(['', 'Anna', '', ''])).toBe('City');
    expect(template.missing(['', ' \u00a0', '', 'Ry'])).toBe('name');
    expect(template.missing(['', 'Anna'])).toBe('City');
    expect(() => template.render(['', 'Anna', '', ''])).toThrow('No value for {{City}}');
  });

  it('does not matter in a column that the message does not use', () => {
    expect(compiled('Hi {{name}}').render(['', 'Anna', '', ''])).toBe('Hi Anna');
  });
});

describe('A message is refused if it', () => {
  it('uses an unknown column, and the error lists the columns and the likely one', () => {
    expect(refusal('Hi {{nmae}}')).toBe(
      'At character 4, the message has {{nmae}}, but the list has no such column. Did you mean {{name}}? The columns are "to", "name", "first name", "City".',
    );
    expect(refusal('{{zip code}}')).toBe(
      'At character 1, the message has {{zip code}}, but the list has no such column. The columns are "to", "name", "first name", "City".',
    );
  });

  it('could mean two columns that differ only in case', () => {
    expect(refusal('{{NAME}}', ['name', 'Name'])).toContain('{{NAME}}, which could mean "name", "Name"');
  });

  it.each([
    ['{{{name}}}', 'a triple brace'],
    ['{{& name}}', 'an unescaped placeholder'],
    ['{{#name}}x{{/name}}', 'a section'],
    ['{{^name}}x', 'an inverted section'],
    ['{{/name}}', 'the end of a section'],
    ['{{> footer}}', 'a partial'],
    ['{{! note }}', 'a comment'],
    ['{{=<% %>=}}', 'a change of delimiters'],
  ])('contains %s: %s', (tag, meaning) => {
    expect(refusal(`😀 ${tag}`)).toBe(
      `At character 3, the message has ${meaning}; use only {{name}} placeholders, whose values are never escaped.`,
    );
  });

  it('contains a placeholder that is not closed, or has no name', () => {
    expect(refusal('Hi {{name}} and {{name')).toBe(
      'At character 17, the message has a placeholder that is not closed with }}.',
    );
    expect(refusal('Hi {{}}')).toBe('At character 4, the message has a placeholder without a name.');
  });
});
