/** WGSL of the prologues of reductions. */
import { accType, vec } from "../../core/gpu_storage.ts";
import { exprType } from "../../core/scalar/expr.ts";
import { indexNames, type Layout, layOut, printElements } from "../pointwise/layout.ts";
import type { Source } from "./programs.ts";
import type { Prologue } from "./task.ts";

/** Returns the layout of operands for `width` elements at once; it may have fewer, and never eight. */
export function sourceLayout({ operands, shape }: Prologue, width: Layout["wide"]): Layout {
  return layOut(operands, shape, width === 1 ? 1 : 4);
}

/** Prints the function that computes elements; its uniform fields are the words of the layout. */
export function printSource({ expr, operands }: Prologue, layout: Layout): Source {
  const dtypes = operands.map((o) => o.dtype), params = indexNames(layout);
  const printed = printElements([expr], dtypes, layout, (name) => `p.${name}`);
  const dtype = exprType(expr, dtypes), type = vec(accType(dtype), layout.wide);
  const lanes = printed.lanes[0].map((t) => (dtype === "bool" ? `select(0u, 1u, ${t})` : t));
  const result = layout.wide === 1 ? lanes[0] : `${type}(${lanes.join(", ")})`;
  const lines = [`fn load_(i: u32) -> ${type} {`, ...printed.lines, `return ${result};\n}`];
  return { text: lines.join("\n"), helpers: printed.helpers, inputs: printed.inputs, params };
}
