import { ACCOUNT_CHECKS } from '../../../src/tools/conformance/account-checks.js';
import { ACCEPTED_CHECKS, SEND_CHECKS } from '../../../src/tools/conformance/message-checks.js';
import { NOTIFIED, NOTIFIED_CHECKS } from '../../../src/tools/conformance/notification-checks.js';
import { READ_CHECKS } from '../../../src/tools/conformance/read-checks.js';
import { REQUEST_CHECKS } from '../../../src/tools/conformance/request-checks.js';
import {
  CREATE_CHECKS,
  CREATED_CHECKS,
  DELETE_CHECKS,
} from '../../../src/tools/conformance/subscription-checks.js';

/** All rows of a conformance test that check something: their names, and the rows of test/interface/README.md that they follow. */
export const CONFORMANCE_ROWS: readonly { readonly name: string; readonly documented: string | null }[] = [
  ...ACCOUNT_CHECKS,
  NOTIFIED,
  ...[
    READ_CHECKS,
    REQUEST_CHECKS,
    CREATE_CHECKS,
    CREATED_CHECKS,
    DELETE_CHECKS,
    SEND_CHECKS,
    ACCEPTED_CHECKS,
    NOTIFIED_CHECKS,
  ].flatMap((table) =>
    table.flatMap((row) => (row.name === undefined ? [] : [{ name: row.name, documented: row.documented }])),
  ),
];
