/** Recurrences: networks over all steps of a sequence as one op. */
import { apply } from "../../../engine/core/apply.ts";
import type { DType } from "../../../engine/core/dtype.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import type { RecurrentCell } from "../../../engine/core/meaning.ts";
import { type Attrs, defineOp, type OpDef } from "../../../engine/core/op.ts";
import { mergeShapes, shapeText } from "../../../engine/core/shape.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { asTensor } from "../../../engine/ops/input.ts";
import * as tf from "../../build/tf.ts";
import { type Cell, gruCell, hiddenProducts, lstmCell, masked, over, rnnCell } from "./cells.ts";

/** Numbers of gates, and of states. */
const SIZES: Readonly<Record<RecurrentCell, readonly [gates: number, states: number]>> = {
  lstm: [4, 2],
  gru: [3, 1],
  "gru after": [3, 1],
  tanh: [1, 1],
  relu: [1, 1],
  sigmoid: [1, 1],
};

const ACTIVATIONS = { tanh: tf.tanh, relu: tf.relu, sigmoid: tf.sigmoid };

type Shape2 = readonly [number | null, number | null];

/** Maximum number of units: GPUs hold states and gates of a row in the memory of a workgroup. */
const MOST_UNITS = 512;

/**
 * Runs a cell over `[steps, batch, gates · units]`, the products of the inputs with their weights, from the states `start`. With
 * `reverse` from the last step to the first. `bias` is added to the product within the reset of "gru after".
 */
const Recurrence: OpDef = defineOp({
  name: "_Recurrence",
  portable: "parts",
  inputs: ["x: T", "weights: T", "start: states * T", "bias: biases * T"],
  outputs: ["y: T", "last: states * T"],
  attrs: [
    "T: floating",
    "states: int >= 1",
    "biases: int >= 0",
    "cell: string",
    "reverse: bool = false",
  ],
  infer: ([x, weights, ...more], { cell, states }) => {
    const [gates] = SIZES[cell as RecurrentCell], units = weights.shape?.[1] ?? null;
    const width = units === null ? null : gates * units, start = more.slice(0, states);
    try {
      mergeShapes(weights.shape, [width, units]);
      const [steps, batch] = mergeShapes(x.shape, [null, null, width]) ?? [null, null];
      const state = start.reduce(
        (shape: Shape2, s) => mergeShapes(shape, s.shape) as Shape2,
        [batch, units],
      );
      for (const s of more.slice(states)) mergeShapes(s.shape, [units]);
      return [[steps, ...state], ...start.map(() => state)];
    } catch {
      const shapes = [x, weights, ...more].map((s) => shapeText(s.shape)).join(", ");
      throw new ValueError(`Cannot run ${cell} over shapes that do not fit: ${shapes}`);
    }
  },
  meaning: { kind: "sequence", kernel: "recurrence" },
  expand: (inputs, attrs) => {
    const [x, weights, ...more] = inputs.map(asTensor), [gates, states] = SIZES[cellOf(attrs)];
    const { step, parts } = composed(weights, more[states] ?? null, attrs);
    const turned = (t: Tensor): Tensor => attrs.reverse ? tf.reverse(t, 0) : t;
    const size = weights.staticShape![0]! / gates;
    const ran = over(turned(x), more.slice(0, states), {
      step: masked(step, null),
      sizes: parts.map((gates) => gates * size),
    });
    return [turned(ran.ys), ...ran.states];
  },
});

function cellOf({ cell }: Attrs): RecurrentCell {
  return cell as RecurrentCell;
}

/** Returns the cell by ordinary ops. */
function composed(weights: Tensor, own: Tensor | null, attrs: Attrs): Cell {
  const cell = cellOf(attrs), [gates] = SIZES[cell], size = weights.staticShape![0]! / gates;
  const init = { size, hidden: hiddenProducts(weights, size, gates), clip: (x: Tensor) => x };
  // Not taken out of `tf` together: bundlers would keep all of it.
  const sigmoid = tf.sigmoid, tanh = tf.tanh;
  switch (cell) {
    case "lstm":
      return lstmCell({ ...init, activations: [sigmoid, tanh, tanh] });
    case "gru":
    case "gru after": {
      const resetsProduct = cell === "gru after";
      return gruCell({ ...init, activations: [sigmoid, tanh] }, { resetsProduct, own });
    }
    default:
      return rnnCell({ ...init, activations: [ACTIVATIONS[cell]] });
  }
}

/** True where devices have a kernel for so many gates: others run the cell step by step. */
export function isFused(dtype: DType, gates: number): boolean {
  return dtype === "float32" && gates <= 4 * MOST_UNITS;
}

/** Runs a cell over the steps of `[steps, batch, gates · units]`. Returns the states of all, and the last states. */
export function recurrence(
  x: Tensor,
  { cell, weights, start, own, isBack }: {
    readonly cell: RecurrentCell;
    /** `[gates · units, units]`. */
    readonly weights: Tensor;
    readonly start: readonly Tensor[];
    /** Bias within the reset of a GRU; null for none. */
    readonly own: Tensor | null;
    readonly isBack: boolean;
  },
): { readonly ys: Tensor; readonly states: readonly Tensor[] } {
  const units = weights.staticShape![1]!;
  const bias = cell !== "gru after" ? [] : [own ?? tf.zeros([units], x.dtype)];
  const [ys, ...states] = apply(Recurrence, [x, weights, ...start, ...bias], {
    cell,
    states: start.length,
    biases: bias.length,
    reverse: isBack,
  });
  return { ys, states };
}
