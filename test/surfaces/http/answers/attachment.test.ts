import { expect, test } from 'vitest';
import { attachment } from '../../../../src/surfaces/http/answers/attachment.js';

test.each([
  ['Spring sale.csv', 'filename="Spring sale.csv"'],
  [
    'Frühling – 20 % für Ada.csv',
    `filename="Fruhling _ 20 _ fur Ada.csv"; filename*=UTF-8''Fr%C3%BChling%20%E2%80%93%2020%20%25%20f%C3%BCr%20Ada.csv`,
  ],
  ["Ö's (1).csv", `filename="O's (1).csv"; filename*=UTF-8''%C3%96%27s%20%281%29.csv`],
  ['../../etc/passwd.csv', 'filename="etc passwd.csv"'],
  ['C:\\Users\\ada.csv', 'filename="C Users ada.csv"'],
  ['a"; filename="evil.exe.csv', 'filename="a ; filename= evil.exe.csv"'],
  ['a\r\nSet-Cookie: a=b.csv', 'filename="a Set-Cookie a=b.csv"'],
  ['\u001b[31mred\u0000.csv', 'filename="[31mred.csv"'],
  ['sale\u202egpj.csv', 'filename="sale gpj.csv"'],
  ['.htaccess.csv', 'filename="htaccess.csv"'],
  ['-rf.csv', 'filename="_-rf.csv"'],
  ['=1+1.csv', 'filename="_=1+1.csv"'],
  ['CON.csv', 'filename="_CON.csv"'],
  ['aux.2.csv', 'filename="_aux.2.csv"'],
  ['Console.csv', 'filename="Console.csv"'],
  ['dots. . .csv', 'filename="dots.csv"'],
  ['\u200b.csv', 'filename="_.csv"'],
  ['\ud800.csv', 'filename="_.csv"'],
  ['records-17', 'filename="records-17"'],
])('A file %j is saved under a name that is safe everywhere', (name, expected) => {
  expect(attachment(name)).toBe(`attachment; ${expected}`);
});

test('A long name is cut between characters, and keeps its ending', () => {
  const header = attachment(`${'😀'.repeat(200)}.csv`);
  const name = decodeURIComponent(/filename\*=UTF-8''(.*)$/.exec(header)?.[1] ?? '');
  expect(name).toBe(`${'😀'.repeat(45)}.csv`);
});
