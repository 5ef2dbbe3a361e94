/**
 * Epilogues: the operations on each sum of a matrix product, convolution or reduction before it is stored: bias,
 * activation, residual, cast.
 */
import { accDType, type DType } from "../../core/dtype.ts";
import type { Epilogue, RowWrite } from "../../core/fusion.ts";
import { accType, vec, wgslType } from "../../core/gpu_storage.ts";
import { exprType } from "../../core/scalar/expr.ts";
import {
  helperText,
  loadElement,
  printWgsl,
  registerType,
  storeElement,
} from "../../core/scalar/wgsl.ts";

export type { Epilogue };

/** An epilogue printed for one kernel. */
export interface PrintedEpilogue {
  /** Declares `finish(v, at, column)`: `at` and `column` count stored vectors. Helper functions come before it. */
  readonly prelude: string;
  /** Names of these helper functions. */
  readonly helpers: readonly string[];
  /** The prelude without the helper functions. */
  readonly text: string;
  readonly inputs: readonly string[];
  readonly output: string;
  /** Types of further outputs. */
  readonly outputs: readonly string[];
}

/** Characters of the functions that an epilogue calls. */
export function helpersOf(epilogue: Epilogue | undefined): number {
  return epilogue === undefined ? 0 : helperText([epilogue.expr]);
}

/**
 * Prints an epilogue. `wide` elements (1 or 4) are stored at once; operands are bound from input `first` on. Without
 * one, sums are stored in the result's dtype.
 */
export function printEpilogue(
  epilogue: Epilogue | undefined,
  sum: DType,
  out: DType,
  wide: 1 | 4,
  first: number,
): PrintedEpilogue {
  const acc = accType(sum);
  const own = (t: string): string => vec(t, wide);
  const output = own(wgslType(out));
  const head = `fn finish(v: ${own(acc)}, at: u32, column: u32) -> ${output}`;
  if (!epilogue) {
    const text = `${head} { return ${output}(v); }`;
    return { prelude: text, helpers: [], text, inputs: [], output, outputs: [] };
  }
  const { expr, operands, write } = epilogue;
  const dtypes = [accDType(sum), ...operands.map((o) => o.dtype)];
  const printed = printWgsl([expr], dtypes, ["x", ...operands.map((_, i) => `e${i}`)]);
  const args = operands.map((o, i) => `, e${i}: ${registerType(o.dtype)}`).join("");
  const result = registerType(exprType(expr, dtypes));
  const lines = [
    `fn epilogue_(x: ${acc}${args}) -> ${result} {`,
    ...printed.lines,
    `return ${printed.results[0]};\n}`,
    `${head} {`,
  ];
  operands.forEach((o, i) => {
    lines.push(
      `let o${i} = in${first + i}[${
        o.per === "all" ? "0" : o.per === "column" ? "column" : "at"
      }];`,
    );
  });
  const call = (lane: string): string => {
    const values = operands.map((o, i) => {
      return `, ${loadElement(o.dtype, o.per === "all" ? `o${i}` : `o${i}${lane}`)}`;
    });
    const text = `epilogue_(v${lane}${values.join("")})`;
    return result === "bool" ? storeElement("bool", text) : `${wgslType(out)}(${text})`;
  };
  const lanes = wide === 4 ? [".x", ".y", ".z", ".w"] : [""];
  const stored = wide === 4 ? `${output}(${lanes.map(call).join(", ")})` : call("");
  if (write) lines.push(`let y = ${stored};`, writeText(write, wide, first + operands.length));
  lines.push(`return ${write ? "y" : stored};\n}`);
  const text = lines.join("\n");
  return {
    prelude: printed.prelude === "" ? text : `${printed.prelude}\n${text}`,
    helpers: printed.helpers,
    text,
    inputs: [
      ...operands.map((o) => (o.per === "all" ? wgslType(o.dtype) : own(wgslType(o.dtype)))),
      ...write ? ["i32"] : [],
    ],
    output,
    outputs: write ? [output] : [],
  };
}

/** Prints the write of `y` into the row that input `index` names. */
function writeText({ from, width, rows }: RowWrite, wide: number, index: number): string {
  const [begin, count] = [from / wide, width / wide];
  return `let row = u32(in${index}[0]);
if (column - ${begin}u < ${count}u && row < ${rows}u) { out1[row * ${count}u + column - ${begin}u] = y; }`;
}
