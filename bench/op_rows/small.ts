// Ops on sixteen elements, where the host's work is all there is, and the ways between arrays and tensors.

import type { Tensor } from "@tensorflow/tfjs-core";
import type { Tf } from "../peers/tfjs.ts";
import { normals } from "../random.ts";
import type { Row } from "../row.ts";
import { binaryCase, type Given, opCase } from "./op_case.ts";

const SMALL: Readonly<Record<string, (tf: Tf, x: Tensor, y: Tensor) => Given>> = {
  add: (tf, x, y) => tf.add(x, y),
  add_number: (tf, x) => tf.add(x, 2),
  greater: (tf, x, y) => tf.greater(x, y),
  where: (tf, x, y) => tf.tidy(() => tf.where(tf.greater(x, y), x, y)),
  cast: (tf, x) => tf.cast(x, "int32"),
  matMul: (tf, x, y) => tf.matMul(x, y),
  softmax: (tf, x) => tf.softmax(x),
  sum: (tf, x) => tf.sum(x),
  sum_rows: (tf, x) => tf.sum(x, 1),
  mean: (tf, x) => tf.mean(x),
  argMax: (tf, x) => tf.argMax(x, 1),
  reshape: (tf, x) => tf.reshape(x, [16]),
  expandDims: (tf, x) => tf.expandDims(x),
  transpose: (tf, x) => tf.transpose(x),
  concat: (tf, x, y) => tf.concat([x, y]),
  stack: (tf, x, y) => tf.stack([x, y]),
  slice: (tf, x) => tf.slice(x, [0, 0], [2, 2]),
  split: (tf, x) => tf.split(x, 2),
  pad: (tf, x) => tf.pad(x, [[1, 1], [1, 1]]),
  gather: (tf, x) => tf.gather(x, [0, 1]),
  oneHot: (tf) => tf.oneHot([0, 1], 3),
  fill: (tf) => tf.fill([2, 2], 1),
  zerosLike: (tf, x) => tf.zerosLike(x),
  clone: (tf, x) => tf.clone(x),
  scalar: (tf) => tf.scalar(1),
  tensor1d: (tf) => tf.tensor1d([1, 2, 3]),
  tensor2d: (tf) => tf.tensor2d([[1, 2], [3, 4]]),
  tidy: (tf, x, y) => tf.tidy(() => tf.add(x, y)),
  grad: (tf, x) => tf.tidy(() => tf.grad((v) => tf.sum(tf.square(v)))(x)),
};

const nested: readonly number[][] = Array.from(
  { length: 1000 },
  (_, i) => Array.from(normals(1000, i + 1)),
);
const bytes: Uint8Array = new Uint8Array(1e6).fill(3), floats = normals(1e6, 1);

/** A call that reads the tensor, and what of it is compared. */
function reading(id: string, size: number, read: (x: Tensor) => readonly number[]): Row {
  const row = opCase(id, (tf) => {
    const x = tf.tensor(normals(size * size, 1), [size, size]);
    return () => read(x);
  });
  return { ...row, readsBack: true };
}

const firstOf = (x: Tensor): readonly number[] => (x.arraySync() as number[][])[0]!;
const firstRead = (x: Tensor): readonly number[] => [x.dataSync()[0]!];

/** Rows of this file. */
export const SMALL_ROWS: readonly Row[] = [
  ...Object.entries(SMALL).map(([name, apply]) =>
    binaryCase(`small_${name}`, [[4, 4], [4, 4]], apply)
  ),
  reading("small_arraySync", 4, firstOf),
  reading("small_dataSync", 4, firstRead),
  reading("arraySync", 1000, firstOf),
  reading("dataSync", 1000, firstRead),
  opCase("tensor_nested", (tf) => () => tf.tensor(nested as number[][])),
  opCase("tensor_bytes", (tf) => () => tf.tensor(bytes, [1e6], "int32")),
  opCase("tensor_floats", (tf) => () => tf.tensor(floats, [1e6])),
];
