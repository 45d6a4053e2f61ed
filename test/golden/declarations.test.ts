import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../scene/closing.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SILENT = { default: { logLevel: ExtractorLogLevel.None } };

/** Comments of the report that say nothing about a name: everything is public, and its docs are beside it in the code. */
const UNSAID = /^ *\/\/ (?:@public|\(undocumented\))\n/gm;

const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
  typeof target === 'string' ? [] : [[name, target.types] as const],
);
const paths = entries.map(([, types]) => join(ROOT, types));
/** The compiler reads the entry points once. */
let compilerState: CompilerState | undefined;

/** What a program can import from an entry point of the built package: each name with its type. */
function declarationsOf(declarations: string): string {
  const { path: folder } = temporaryFolder();
  const entry = join(ROOT, declarations);
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: ROOT,
      mainEntryPointFilePath: entry,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            module: 'nodenext',
            target: 'es2023',
            lib: ['es2023'],
            types: ['node'],
            strict: true,
            skipLibCheck: true,
          },
          files: paths,
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: 'report.api.md',
        reportFolder: folder,
        reportTempFolder: join(folder, 'new'),
      },
      newlineKind: 'lf',
      docModel: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        extractorMessageReporting: SILENT,
        tsdocMessageReporting: SILENT,
        compilerMessageReporting: SILENT,
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(ROOT, 'package.json'),
  });
  compilerState ??= CompilerState.create(config);
  Extractor.invoke(config, {
    compilerState,
    localBuild: true,
    messageCallback(message) {
      message.handled = true;
    },
  });
  return readFileSync(join(folder, 'report.api.md'), 'utf8').replaceAll(UNSAID, '');
}

test.each(entries)('The declarations of the entry point %s are those of its file', async (name, types) => {
  const file = name === '.' ? 'index' : name.slice(2);
  const declarations = declarationsOf(types);
  await expect(declarations).toMatchFileSnapshot(`files/${file}.api.md`);
  // What a program reads is a type of its own, and not what a schema makes.
  expect(declarations).not.toMatch(/\bz\./);
});
