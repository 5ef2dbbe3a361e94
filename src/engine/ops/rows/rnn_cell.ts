/** Cells of recurrent networks: one step of an LSTM, and a stack of cells. */
import { wantFunction, wantList } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { asTensor, toInput } from "../input.ts";
import { matMul } from "../linalg/matmul.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { sigmoid } from "../pointwise/sigmoid.ts";
import { tanh } from "../pointwise/trigonometric.ts";

/** One step of a cell: from data, state and output to the next state and output. */
export type LSTMCellFunc = (data: Tensor, c: Tensor, h: Tensor) => [Tensor, Tensor];

/**
 * One step of a basic LSTM: the new state and the new output, each `[batch, units]`. `data` is `[batch, inputs]`, `c` and `h` are
 * `[batch, units]`, the kernel is `[inputs + units, 4 · units]` and the bias `[4 · units]`, in the order input, candidate, forget,
 * output. Throws `ValueError` where they do not fit. Follows TensorFlow `BasicLSTMCell`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [c, h] = tf.basicLSTMCell(1, tf.zeros([5, 8]), tf.zeros([8]), tf.ones([1, 3]), tf.zeros([1, 2]), tf.zeros([1, 2]));
 * console.log([c.shape, h.arraySync()]); // [[1, 2], [[0, 0]]]
 * ```
 */
export function basicLSTMCell(
  forgetBias: TensorLike,
  lstmKernel: TensorLike,
  lstmBias: TensorLike,
  data: TensorLike,
  c: TensorLike,
  h: TensorLike,
): [Tensor, Tensor] {
  const given = { forgetBias, lstmKernel, lstmBias, data, c, h };
  return compose(() => {
    const [forget, kernel, bias, x, state, output] = Object.entries(given).map(([name, value]) =>
      asTensor(toInput(value, name, "basicLSTMCell"))
    );
    const gates = add(matMul(concat([x, output], 1), kernel), bias);
    const width = gates.staticShape?.[1];
    if (width == null || width % 4 !== 0) {
      throw new ValueError(
        `Cannot run basicLSTMCell: the bias must have 4 · units elements, received gates of shape ${
          shapeText(gates.staticShape)
        }`,
      );
    }
    const units = width / 4;
    const [i, j, f, o] = [0, 1, 2, 3].map((k) => slice(gates, [0, k * units], [-1, units]));
    const next = add(mul(sigmoid(i), tanh(j)), mul(state, sigmoid(add(forget, f))));
    return [next, mul(tanh(next), sigmoid(o))];
  });
}

/**
 * One step of a stack of cells, each fed with the output of the one before it: the new states and the new outputs.
 * Throws `ValueError` where there is not one `c` and one `h` for each cell. Follows TensorFlow.js `tf.multiRNNCell`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const cell: tf.LSTMCellFunc = (x, c, h) => [tf.add(c, x), tf.add(h, x)];
 * const zero = tf.zeros([1, 1]);
 * const [c, h] = tf.multiRNNCell([cell, cell], tf.ones([1, 1]), [zero, zero], [zero, zero]);
 * console.log([c.length, h[1].arraySync()]); // [2, [[1]]]
 * ```
 */
export function multiRNNCell(
  lstmCells: readonly LSTMCellFunc[],
  data: TensorLike,
  c: readonly TensorLike[],
  h: readonly TensorLike[],
): [Tensor[], Tensor[]] {
  for (const [list, arg] of [[lstmCells, "lstmCells"], [c, "c"], [h, "h"]] as const) {
    wantList(list, arg, "multiRNNCell");
  }
  lstmCells.forEach((cell, i) => wantFunction(cell, `lstmCells[${i}]`, "multiRNNCell"));
  if (c.length !== lstmCells.length || h.length !== lstmCells.length) {
    throw new ValueError(
      `Cannot run multiRNNCell: ${lstmCells.length} cells need as many states and outputs, received ${c.length} and ${h.length}`,
    );
  }
  return compose(() => {
    const list = (xs: readonly TensorLike[], name: string): Tensor[] =>
      xs.map((x, i) => asTensor(toInput(x, `${name}[${i}]`, "multiRNNCell")));
    let x = asTensor(toInput(data, "data", "multiRNNCell"));
    const cs = list(c, "c"), hs = list(h, "h");
    const states: Tensor[] = [], outputs: Tensor[] = [];
    lstmCells.forEach((cell, i) => {
      const [state, output] = cell(x, cs[i], hs[i]);
      states.push(state);
      outputs.push(x = output);
    });
    return [states, outputs];
  });
}
