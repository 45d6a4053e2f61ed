// Makes `npx volley` run this checkout. Without it, npm would first install the folder into its cache and build it once more.
import { writeFileSync } from 'node:fs';

const COMMAND = `#!/usr/bin/env node
import('../../dist/src/cli/main.js');
`;

writeFileSync('node_modules/.bin/volley', COMMAND, { mode: 0o755 });
