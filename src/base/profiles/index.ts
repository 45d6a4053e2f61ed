/* The versions of the service that a lane can use. */

import type { ServiceProfile } from './profile.js';
import { v1 } from './v1.js';
import { v3 } from './v3.js';

export type { ServiceProfile } from './profile.js';

/** The profiles by name. The first one is the default. */
export const PROFILES = { v1, v3 } as const satisfies Record<string, ServiceProfile>;

/** The name of a profile, as in the setting `profile` of a lane. */
export type ProfileName = keyof typeof PROFILES;
