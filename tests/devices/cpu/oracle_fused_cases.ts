/** Kernels that are several ops in one, each with random cases and what they should give. */

import type { DType } from "../../../src/engine/core/dtype.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { argument, castTo, type Expr, scalar as s } from "../../../src/engine/core/scalar/expr.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import { type Per, withEpilogue } from "../../fusions.ts";
import { type Case, type Kernel, PRODUCT_KERNELS } from "./oracle_cases.ts";
import type { Dice } from "./oracle_random.ts";
import { Sums } from "./oracles.ts";

const floats = (x: NdArray): Float32Array => x.data as Float32Array;

const PRODUCTS = new Map(PRODUCT_KERNELS);

/** A case of a product or convolution, its sums, and how many columns they have. */
function product(base: string, dice: Dice): { made: Case; sums: Sums; columns: number } {
  const made = PRODUCTS.get(base)!(dice), { shape } = made.inputs[1];
  const columns = base === "MatMul"
    ? shape[made.attrs!.transpose_b ? 0 : 1]
    : sizeOf(shape.slice(base.startsWith("Conv") ? -1 : 2));
  return { made, sums: made.outputs[0] as Sums, columns };
}

/** Rectified; NaN is handed on. */
const relu = (v: number): number => (v < 0 ? 0 : v);

function biased(base: string) {
  return (dice: Dice): Case => {
    const { made, sums: { values, scale }, columns } = product(base, dice);
    const bias = dice.plain([columns]), isRelu = dice.chance(0.5);
    values.forEach((v, i) => {
      const b = floats(bias)[i % columns];
      values[i] = isRelu ? relu(v + b) : v + b;
      scale[i] += Math.abs(b);
    });
    const fused_ops = isRelu ? ["BiasAdd", "Relu"] : ["BiasAdd"];
    return {
      inputs: [...made.inputs, bias],
      attrs: { ...made.attrs, fused_ops, num_args: 1 },
      outputs: [{ values, scale }],
    };
  };
}

/** Draws the numbers of an epilogue's operand; full 32-bit numbers would drown the sums. */
function numbersOf(dice: Dice, dtype: DType, count: number): NdArray {
  if (dtype === "float32") return dice.plain([count]);
  if (dtype === "bool") return dice.truths([count]);
  return NdArray.zeros(dtype, [count]).map(() => dice.between(0, 9));
}

/**
 * Factors, terms and choices in turn, of every dtype that vector code knows, each one for all sums, for a column or for a sum of its
 * own; at last perhaps no less than zero.
 */
function epilogue(base: string) {
  return (dice: Dice): Case => {
    const { made, sums: { values, scale }, columns } = product(base, dice);
    const per: Per[] = [], dtypes: DType[] = [], operands: NdArray[] = [];
    // Depthwise convolutions have no vector code for those.
    const hasResidual = base !== "DepthwiseConv2dNative";
    let expr: Expr = argument(0);
    for (let k = dice.between(1, 3); k > 0; k--) {
      const access = dice.pick<Per>("all", "column", hasResidual ? "element" : "all"),
        isFactor = dice.chance(0.5);
      const count = { all: 1, column: columns, element: values.length }[access]!;
      const dtype = dice.pick<DType>("float32", "bool", "int32", "uint32");
      const operand = numbersOf(dice, dtype, count), given = argument(operands.length + 1);
      const own = dtype === "float32" ? given : castTo(given, "float32");
      const isMask = dtype === "bool" && dice.chance(0.5);
      if (isMask) expr = isFactor ? s.select(given, expr, 2) : s.select(given, 2, expr);
      else expr = isFactor ? s.mul(expr, own) : s.add(expr, own);
      values.forEach((v, i) => {
        const x = Number(operand.data[i % count]);
        if (isMask) {
          if ((x === 1) !== isFactor) values[i] = scale[i] = 2;
          return;
        }
        values[i] = isFactor ? v * x : v + x;
        // Products may be fused with what they are added to, and rounded once or twice.
        scale[i] = isFactor ? scale[i] * Math.abs(x) + 2 ** -125 : scale[i] + Math.abs(x);
      });
      operands.push(operand);
      per.push(access);
      dtypes.push(dtype);
    }
    if (dice.chance(0.5)) {
      expr = s.max(expr, 0);
      values.forEach((v, i) => values[i] = relu(v));
    }
    return {
      inputs: [...made.inputs, ...operands],
      attrs: withEpilogue(made.attrs ?? {}, expr, per, dtypes),
      outputs: [{ values, scale }],
    };
  };
}

/** A step of gradient descent on several variables, and the squares of their gradients. */
function groupedUpdate(dice: Dice): Case {
  const [rate, variable, gradient] = [0, 1, 2].map(argument);
  const exprs = [s.sub(variable, s.mul(rate, gradient)), s.mul(gradient, gradient)];
  const inputs = [dice.plain([])], outputs: Sums[] = [];
  const step = floats(inputs[0])[0];
  for (let member = dice.between(1, 4); member > 0; member--) {
    const shape = dice.shape(dice.between(0, 3), 9);
    const v = dice.floats(shape), g = dice.floats(shape), size = sizeOf(shape);
    const next = new Sums(size), squares = new Sums(size);
    for (let i = 0; i < size; i++) {
      next.add(i, floats(v)[i]);
      next.add(i, -step * floats(g)[i]);
      squares.add(i, floats(g)[i] ** 2);
    }
    inputs.push(v, g);
    outputs.push(next, squares);
  }
  const types = (count: number): string[] => new Array(count).fill("float32");
  const attrs = { Tin: types(inputs.length), Tout: types(outputs.length), exprs };
  return { inputs, attrs: { ...attrs, scalars: 1, arrays: 2 }, outputs };
}

const BASES = ["MatMul", "Conv2D", "Conv3D", "DepthwiseConv2dNative"];

/** Products and convolutions with what follows them, and updates of many variables. */
export const FUSED_KERNELS: readonly Kernel[] = [
  ["_FusedConv2D", biased("Conv2D")],
  ["_FusedDepthwiseConv2dNative", biased("DepthwiseConv2dNative")],
  ...BASES.map((base): Kernel => [`${base} with an epilogue`, epilogue(base)]),
  ["_GroupedUpdate", groupedUpdate],
];
