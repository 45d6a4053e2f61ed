import { attackTests } from '../faults/attacks/attack-tests.js';

await attackTests('kills', 'settings', 'due-at-once', 'tenants');
