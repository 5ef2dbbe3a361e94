// All rows, in the order of the tables.

import type { Row } from "../row.ts";
import { COLD_ROWS } from "./cold.ts";
import { PROCESS_ROWS } from "./one_process.ts";

/** Every row there is. */
export const ROWS: readonly Row[] = [...PROCESS_ROWS, ...COLD_ROWS];
