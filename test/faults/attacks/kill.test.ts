import { attackTests } from './attack-tests.js';
import { path } from './path.js';

await attackTests(path);
