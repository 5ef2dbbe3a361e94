// The rows of one process, in the order of the tables: all but those of cold.ts. To add rows, write a file beside this one and
// list it here.

import type { Row } from "../row.ts";
import { ATTENTION_ROWS } from "./attention.ts";
import { CNN_ROWS } from "./cnn.ts";
import { CONV_ROWS } from "./conv.ts";
import { DECODE_ROWS } from "./decode.ts";
import { GPT_ROWS } from "./gpt.ts";
import { LATENCY_ROWS } from "./latency.ts";
import { MATMUL_ROWS } from "./matmul.ts";
import { MLP_ROWS } from "./mlp.ts";
import { MOBILENET_ROWS } from "./mobilenet.ts";
import { PEAK_ROWS } from "./peak.ts";
import { POINTWISE_ROWS } from "./pointwise.ts";
import { PRECISION_ROWS } from "./precision.ts";
import { REDUCE_ROWS } from "./reduce.ts";
import { SIGNAL_ROWS } from "./signal.ts";
import { SOLVER_ROWS } from "./solvers.ts";
import { TRANSFER_ROWS } from "./transfer.ts";

/** Every row but those that start processes. */
export const PROCESS_ROWS: readonly Row[] = [
  ...PEAK_ROWS,
  ...MATMUL_ROWS,
  ...PRECISION_ROWS,
  ...SOLVER_ROWS,
  ...SIGNAL_ROWS,
  ...POINTWISE_ROWS,
  ...REDUCE_ROWS,
  ...ATTENTION_ROWS,
  ...CONV_ROWS,
  ...MOBILENET_ROWS,
  ...MLP_ROWS,
  ...CNN_ROWS,
  ...GPT_ROWS,
  ...DECODE_ROWS,
  ...LATENCY_ROWS,
  ...TRANSFER_ROWS,
];
