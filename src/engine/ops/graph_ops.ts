/** Ops for graphs: constants, placeholders, no-op, shape assertions, variables' handles. */
import { apply1, currentInterpreter } from "../core/apply.ts";
import { asDType, type DType, DTYPES } from "../core/dtype.ts";
import type { NdArray } from "../core/nd_array.ts";
import { defineOp } from "../core/op.ts";
import {
  compatible,
  isConcrete,
  mergeShapes,
  type PartialShape,
  shapeText,
} from "../core/shape.ts";
import { withScope } from "../core/scope_context.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { InvalidArgumentError, RuntimeError, ValueError } from "../core/errors.ts";
import { toInput } from "./input.ts";
import { wantList } from "../core/arguments.ts";

defineOp({
  name: "Const",
  inputs: [],
  outputs: ["output: dtype"],
  attrs: ["value: tensor", "dtype: type"],
  infer: (_, { value, dtype }) => {
    if (value.dtype !== dtype) {
      throw new ValueError(`Type mismatch between value (${value.dtype}) and dtype (${dtype})`);
    }
    return [value.shape];
  },
  grad: null,
  meaning: { kind: "constant" },
  host: {},
});

const Placeholder = defineOp({
  name: "Placeholder",
  inputs: [],
  outputs: ["output: dtype"],
  attrs: ["dtype: type", "shape: shape = null"],
  infer: (_, { shape }) => [shape],
  grad: null,
  meaning: { kind: "input" },
  host: {
    run: ({ node, attrs: { dtype, shape } }) => {
      throw unfedPlaceholder(node, dtype, shape);
    },
  },
});

/** Makes the error of an unfed placeholder. */
function unfedPlaceholder(
  name: string,
  dtype: DType,
  shape: readonly (number | null)[] | null,
): InvalidArgumentError {
  const where = shape === null ? "" : ` and shape ${shapeText(shape)}`;
  return new InvalidArgumentError(
    `You must feed a value for placeholder tensor '${name}' with dtype ${
      DTYPES[dtype].tfName
    }${where}`,
    { op: "Placeholder", node: name },
  );
}

const PlaceholderWithDefault = defineOp({
  name: "PlaceholderWithDefault",
  inputs: ["input: dtype"],
  outputs: ["output: dtype"],
  attrs: ["dtype: type", "shape: shape = null"],
  infer: ([input], { shape }) => {
    mergeShapes(input.shape, shape);
    return [shape];
  },
  grad: { saves: [], vjp: (_, [dy]) => [dy] },
  meaning: { kind: "view" },
});

defineOp({
  name: "NoOp",
  inputs: [],
  outputs: [],
  infer: () => [],
  grad: null,
  host: { run: () => [] },
});

const EnsureShape = defineOp({
  name: "EnsureShape",
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: ["T: type", "shape: shape"],
  infer: ([x], { shape }) => {
    if (isConcrete(x.shape) && !compatible(x.shape, shape)) {
      throw new InvalidArgumentError(
        `Shape of tensor ${shapeText(x.shape)} is not compatible with expected shape ${
          shapeText(shape)
        }`,
        { op: "EnsureShape" },
      );
    }
    return [compatible(x.shape, shape) ? mergeShapes(x.shape, shape) : shape];
  },
  grad: { saves: [], vjp: (_, [dy]) => [dy] },
  meaning: { kind: "view" },
});

/**
 * Makes a value that a session must feed. `shape` has null for unknown dimensions and is null for unknown rank.
 * TensorFlow op `Placeholder`. Throws `RuntimeError` in eager mode.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = new tf.Graph().asDefault(() => tf.neg(tf.placeholder("float32", [null], "x")));
 * const out = await new tf.Session({ graph: y.graph }).run(y, { feeds: { "x:0": [1, 2] } }) as tf.NdArray;
 * console.log(out.toArray()); // [-1, -2]
 * ```
 */
export function placeholder(dtype: DType, shape: PartialShape = null, name?: string): Tensor {
  if (!currentInterpreter().symbolic) {
    throw new RuntimeError(
      "tf.placeholder() is not compatible with eager execution: call it inside graph.asDefault(), before the first await",
    );
  }
  return withScope(
    { opName: name ?? null },
    () => apply1(Placeholder, [], { dtype: asDType(dtype), shape }),
  );
}

/**
 * Makes a value that may be fed, and is `input` if it is not. TensorFlow op `PlaceholderWithDefault`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = new tf.Graph().asDefault(() => tf.add(tf.placeholderWithDefault(2, [], "x"), 1));
 * const sess = new tf.Session({ graph: y.graph });
 * console.log([await sess.run(y), await sess.run(y, { feeds: { "x:0": 5 } })]); // [3, 6]
 * ```
 */
export function placeholderWithDefault(
  input: TensorLike,
  shape: PartialShape = null,
  name?: string,
): Tensor {
  if (shape !== null) wantList(shape, "shape", "placeholderWithDefault");
  const x = toInput(input, "input", "placeholderWithDefault");
  return withScope({ opName: name ?? null }, () => apply1(PlaceholderWithDefault, [x], { shape }));
}

/**
 * Returns the tensor, checked at run time to have this (partial) shape. TensorFlow op `EnsureShape`. Throws
 * `InvalidArgumentError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.ensureShape([1, 2], [null]).shape); // [2]
 * ```
 */
export function ensureShape(x: TensorLike, shape: PartialShape): Tensor {
  return apply1(EnsureShape, [toInput(x, "x", "ensureShape")], { shape });
}

defineOp({
  name: "Assert",
  inputs: ["condition: bool", "data: T"],
  outputs: [],
  attrs: ["T: list(type)", "summarize: int = 3"],
  hostInputs: ["condition", "data"],
  infer: () => [],
  grad: null,
  effects: "ordered",
  stateful: true,
  cpu: ([condition, ...data], _, { attrs: { summarize } }) => {
    if (condition.item()) return;
    throw new InvalidArgumentError(
      `assertion failed: ${data.map((d) => `[${summaryOf(d, summarize)}]`).join(" ")}`,
      { op: "Assert" },
    );
  },
});

/** Returns the first elements of an array, all for a negative `count`. */
function summaryOf(a: NdArray, count: number): string {
  const shown = count < 0 ? a.size : Math.min(count, a.size);
  const values = Array.from({ length: shown }, (_, i) => {
    const v = a.at(i);
    return v instanceof Uint8Array ? new TextDecoder().decode(v) : String(v);
  });
  return values.join(" ") + (shown < a.size ? "..." : "");
}
