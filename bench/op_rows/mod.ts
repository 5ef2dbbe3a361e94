// The ops of the table of many ops. To add one, write it into the file of its kind.

import type { Row } from "../row.ts";
import { ELEMENTWISE_ROWS } from "./elementwise.ts";
import { IMAGE_ROWS } from "./image.ts";
import { MOVE_ROWS } from "./move.ts";
import { REDUCE_ROWS } from "./reduce.ts";
import { SMALL_ROWS } from "./small.ts";

/** Every op there is. */
export const OP_ROWS: readonly Row[] = [
  ...ELEMENTWISE_ROWS,
  ...REDUCE_ROWS,
  ...MOVE_ROWS,
  ...IMAGE_ROWS,
  ...SMALL_ROWS,
];
