// Ops of one's own, as programs of the playground import them: a part of the library's one file, which compresses better.
import { ownOps } from "./weft.js";

export const {
  applyOp,
  argument,
  castTo,
  constant,
  defineOp,
  definePointwise,
  f32Bits,
  flatId,
  gridFor,
  makeProgram,
  scalar,
  workgroupFor,
} = ownOps;
