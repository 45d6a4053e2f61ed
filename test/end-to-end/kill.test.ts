import { attackTests } from '../faults/attacks/attack-tests.js';
import { path } from '../faults/attacks/path.js';

await attackTests(path);
