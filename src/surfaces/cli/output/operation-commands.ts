import { commandTable, type OperationCommand } from '../../../operations/command-table.js';
import { OPERATIONS } from '../../../operations/index.js';

/**
 * The commands of the operations. To compute them, all rows and their schemas are loaded, which help must not wait for: the build replaces the
 * compiled file by its result (write-commands.ts).
 */
export const OPERATION_COMMANDS: readonly OperationCommand[] = commandTable(OPERATIONS);
