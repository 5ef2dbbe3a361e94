/** Operations that Keras 3 writes as layers: `x * 2`, `keras.ops.mean(x, axis=1)`, `x[:, 0]`. */
import * as tf from "../../../mod.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import type { Json, JsonObject } from "../layers/keras_config.ts";

/** An argument once its tensors are in their places. */
type Argument = tf.Tensor | Json | Argument[];
type Arguments = Readonly<Record<string, Argument | undefined>>;

const isTensor = (value: unknown): value is tf.Tensor => value instanceof tf.Tensor;
/** A tensor; numbers beside tensors become those of their dtype. */
const tensor = (value: Argument | undefined): tf.Tensor =>
  isTensor(value) ? value : tf.tensor(value as number);
const axes = (value: Argument | undefined): number | number[] | undefined =>
  value === null || value === undefined ? undefined : value as number | number[];
const list = (value: Argument | undefined): Argument[] =>
  Array.isArray(value) ? value : [value ?? null];

type Operation = readonly [names: string, run: (given: Arguments) => tf.Tensor];

const binary = (
  run: (a: tf.TensorLike, b: tf.TensorLike) => tf.Tensor,
): Operation => ["x1 x2", ({ x1, x2 }) => {
  const [a, b] = [x1, x2].map((x) => isTensor(x) ? x : x as number);
  return run(a, b);
}];
const unary = (run: (x: tf.Tensor) => tf.Tensor): Operation => ["x", ({ x }) => run(tensor(x))];
const reduction = (
  run: (x: tf.Tensor, axis?: number | number[], keepDims?: boolean) => tf.Tensor,
): Operation => [
  "x axis keepdims",
  ({ x, axis, keepdims }) => run(tensor(x), axes(axis), keepdims === true),
];

/** Operations by the class that Keras gives them: the names of arguments in order, and a function of them. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  Add: binary(tf.add),
  Subtract: binary(tf.sub),
  Multiply: binary(tf.mul),
  Divide: binary(tf.div),
  TrueDivide: binary(tf.div),
  Maximum: binary(tf.maximum),
  Minimum: binary(tf.minimum),
  Power: binary(tf.pow),
  Matmul: binary(tf.matMul as (a: tf.TensorLike, b: tf.TensorLike) => tf.Tensor),
  Equal: binary(tf.equal),
  NotEqual: binary(tf.notEqual),
  Greater: binary(tf.greater),
  Less: binary(tf.less),
  LogicalAnd: binary((a, b) => tf.logicalAnd(tf.cast(a, "bool"), tf.cast(b, "bool"))),
  LogicalOr: binary((a, b) => tf.logicalOr(tf.cast(a, "bool"), tf.cast(b, "bool"))),
  Any: reduction((x, axis, keep) => tf.any(tf.cast(x, "bool"), axis, keep)),
  Negative: unary(tf.neg),
  Absolute: unary(tf.abs),
  Abs: unary(tf.abs),
  Exp: unary(tf.exp),
  Log: unary(tf.log),
  Log1p: unary(tf.log1p),
  Sqrt: unary(tf.sqrt),
  Rsqrt: unary(tf.rsqrt),
  Square: unary(tf.square),
  Sin: unary(tf.sin),
  Cos: unary(tf.cos),
  Tanh: unary(tf.tanh),
  Sigmoid: unary(tf.sigmoid),
  Relu: unary(tf.relu),
  Relu6: unary(tf.relu6),
  Softplus: unary(tf.softplus),
  Silu: unary((x) => tf.mul(x, tf.sigmoid(x))),
  Gelu: ["x approximate", ({ x, approximate }) => tf.gelu(tensor(x), approximate !== false)],
  Softmax: ["x axis", ({ x, axis }) => tf.softmax(tensor(x), Number(axis ?? -1))],
  Mean: reduction(tf.mean),
  Sum: reduction(tf.sum),
  Max: reduction(tf.max),
  Min: reduction(tf.min),
  Amax: reduction(tf.max),
  Amin: reduction(tf.min),
  Prod: reduction(tf.prod),
  Clip: [
    "x xmin xmax",
    ({ x, xmin, xmax }) => tf.clipByValue(tensor(x), Number(xmin), Number(xmax)),
  ],
  Reshape: ["x newshape", ({ x, newshape }) => {
    const given = tensor(x), shape = list(newshape).map((n) => n === null ? -1 : Number(n));
    return tf.reshape(given, shape);
  }],
  Transpose: [
    "x axes",
    ({ x, axes: order }) => tf.transpose(tensor(x), axes(order) as number[] | undefined),
  ],
  ExpandDims: ["x axis", ({ x, axis }) =>
    list(axis).map(Number).reduce(
      (y, i) => tf.expandDims(y, i),
      tensor(x),
    )],
  Squeeze: [
    "x axis",
    ({ x, axis }) =>
      tf.squeeze(tensor(x), axes(axis) === undefined ? undefined : list(axis).map(Number)),
  ],
  Concatenate: ["xs axis", ({ xs, axis }) => tf.concat(list(xs).map(tensor), Number(axis ?? -1))],
  Stack: ["x axis", ({ x, axis }) => tf.stack(list(x).map(tensor), Number(axis ?? 0))],
  Cast: [
    "x dtype",
    ({ x, dtype }) =>
      tf.cast(
        tensor(x),
        /int/.test(String(dtype)) ? "int32" : dtype === "bool" ? "bool" : "float32",
      ),
  ],
  GetItem: ["x key", ({ x, key }) => getItem(tensor(x), list(key))],
};

/** A name without what the package changes when it writes a model: capitals and underscores. */
const plain = (name: string): string => name.replaceAll("_", "").toLowerCase();

const BY_NAME = new Map(
  Object.entries(OPERATIONS).map(([name, operation]) => [plain(name), operation]),
);

/** Returns `x[key]` of NumPy, of slices, whole numbers, an ellipsis and new axes. */
function getItem(x: tf.Tensor, key: readonly Argument[]): tf.Tensor {
  const begin: number[] = [], end: number[] = [], strides: number[] = [];
  let beginMask = 0, endMask = 0, ellipsisMask = 0, newAxisMask = 0, shrinkMask = 0;
  key.forEach((part, i) => {
    const bit = 1 << i,
      { slice, ellipsis } = (part ?? {}) as { slice?: (number | null)[]; ellipsis?: boolean };
    const [from, to, by] = slice ?? [typeof part === "number" ? part : null, null, null];
    if (part === null) newAxisMask |= bit;
    else if (ellipsis) ellipsisMask |= bit;
    else if (typeof part === "number") shrinkMask |= bit;
    else if (!slice) {
      throw new UnimplementedError(
        "Cannot run operation GetItem: an index that is a tensor or a list is not supported",
      );
    }
    if (from === null) beginMask |= bit;
    if (to === null && typeof part !== "number") endMask |= bit;
    begin.push(from ?? 0);
    end.push(typeof part === "number" ? (part === -1 ? 0 : part + 1) : to ?? 0);
    strides.push(by ?? 1);
  });
  return tf.stridedSlice(
    x,
    begin,
    end,
    strides,
    beginMask,
    endMask,
    ellipsisMask,
    newAxisMask,
    shrinkMask,
  );
}

/** Puts tensors in the places of their numbers. */
function filled(value: Json, tensors: readonly tf.Tensor[]): Argument {
  if (Array.isArray(value)) return value.map((each) => filled(each, tensors));
  if (typeof value !== "object" || value === null || typeof value.tensor !== "number") return value;
  const found = tensors.at(value.tensor);
  if (!found) {
    throw new ValueError(
      `Cannot run an operation: input ${value.tensor} of ${tensors.length} is missing`,
    );
  }
  return found;
}

/** Runs an operation. Throws `UnimplementedError` for one that is not known. */
export function runOperation(
  name: string,
  { args, kwargs }: JsonObject,
  inputs: readonly tf.Tensor[],
): tf.Tensor {
  const operation = BY_NAME.get(plain(name));
  if (!operation) {
    throw new UnimplementedError(
      `Cannot run operation ${name} of a Keras model: it is not supported`,
    );
  }
  const [names, run] = operation, given: Record<string, Argument> = {};
  const order = names.split(" ");
  (args as Json[]).forEach((value, i) => given[order[i]] = filled(value, inputs));
  for (const [key, value] of Object.entries(kwargs as JsonObject)) {
    given[key] = filled(value, inputs);
  }
  return run(given);
}
