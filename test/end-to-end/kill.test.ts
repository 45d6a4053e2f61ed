import { attackTests } from '../faults/attacks/attack-tests.js';

await attackTests('path');
