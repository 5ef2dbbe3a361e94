/** Positions of the greatest and least elements: argMax, argMin. */
import type { ArgOp } from "../../core/meaning.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { argReduceCpu } from "../../kernels/host/arg_reduce.ts";
import { hostInts } from "../array/view.ts";
import { applyConverted, intScalar, shapeOfInput } from "../input.ts";
import { toNumberInput } from "../pointwise/arithmetic.ts";

function defineArg(name: string, op: ArgOp): OpDef {
  return defineOp({
    name,
    inputs: ["input: T", "dimension: Tidx"],
    outputs: ["output: output_type"],
    attrs: ["T: real", "Tidx: index = int32", "output_type: index = int64"],
    hostInputs: ["dimension"],
    infer: ([x, dimension]) => {
      if (x.shape === null) return [null];
      if (dimension.value === undefined) {
        return [new Array<null>(Math.max(0, x.shape.length - 1)).fill(null)];
      }
      const axis = normalizeAxis(hostInts(dimension.value)[0], x.shape.length);
      if (x.shape[axis] === 0) {
        throw new ValueError(`Reduction axis ${axis} is empty in shape ${shapeText(x.shape)}`);
      }
      return [x.shape.filter((_, i) => i !== axis)];
    },
    grad: null,
    meaning: { kind: "arg reduce", op },
    cpu: ([x, dimension], [out]) =>
      argReduceCpu(op, x, normalizeAxis(hostInts(dimension)[0], x.shape.length), out),
  });
}

const ArgMax = defineArg("ArgMax", "max");
const ArgMin = defineArg("ArgMin", "min");

function arg(def: OpDef, x: TensorLike, fn: string, axis: number): Tensor {
  const input = toNumberInput(x, fn);
  const rank = shapeOfInput(input)?.length;
  const at = intScalar(rank === undefined ? axis : normalizeAxis(axis, rank));
  return applyConverted(def, [input, at], [x], { output_type: "int32" });
}

/**
 * Index of the greatest element along an axis, int32; of equals the first, NaN only where there is nothing else.
 * TensorFlow op `ArgMax`. Throws `ValueError` for an axis out of range or of extent 0, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.argMax([[1, 5, 2], [7, 3, 7]], 1).arraySync()); // [1, 0]
 * ```
 */
export function argMax(x: TensorLike, axis = 0): Tensor {
  return arg(ArgMax, x, "argMax", axis);
}

/**
 * Index of the least element along an axis, int32; of equals the first, NaN only where there is nothing else.
 * TensorFlow op `ArgMin`. Throws `ValueError` for an axis out of range or of extent 0, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.argMin([[1, 5, 2], [7, 3, 7]], 0).arraySync()); // [0, 1, 0]
 * ```
 */
export function argMin(x: TensorLike, axis = 0): Tensor {
  return arg(ArgMin, x, "argMin", axis);
}
