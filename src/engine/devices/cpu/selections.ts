/** The kernels that find the greatest elements of rows and their indices, and count equal ones. */
import { prepareCount } from "./copy/count.ts";
import type { KernelsOf } from "./kernel_table.ts";
import { code } from "./prepare.ts";
import { prepareArgReduction } from "./reduce/arg_reduce.ts";
import { prepareTopK } from "./rows/topk.ts";

/** By kind. */
export const kernels: KernelsOf<"arg reduce" | "count" | "top"> = {
  code,
  "arg reduce": (engine, problem, { op }) => prepareArgReduction(engine, problem, op),
  "count": (engine, problem, { of }) => prepareCount(engine, problem, of === "all"),
  "top": prepareTopK,
};
