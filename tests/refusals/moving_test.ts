/** Refusals of functions that move elements: invalid calls, and a part of each message. */

import * as tf from "@weft/weft";
import { checkRefusals, i, type Refusal, U, v, z } from "./check.ts";

const REFUSALS: readonly Refusal[] = [
  [() => U.concat2d([v(2), v(2)], 0), "Cannot apply concat2d to shape [2]: wanted rank 2"],
  [() => U.stack([]), "Cannot stack: pass at least one tensor"],
  [
    () => U.transpose(z(2, 3), [0]),
    "Cannot transpose shape [2,3] by perm [0]: dim 1 differs from the rank 2",
  ],
  [() => U.transpose(z(2, 3), [1, 1]), "Cannot permute axes by [1,1]: it is not a permutation"],
  [() => U.reverse2d(v(2), 0), "Cannot apply reverse2d to shape [2]: wanted rank 2"],
  [
    () => U.roll(z(2, 3), [1, 2], [0]),
    "Cannot roll by 2 shifts along 1 axes: wanted as many of each",
  ],
  [() => U.pad(U.scalar(1), []), "pad(scalar) is not defined. Pass non-scalar to pad"],
  [() => U.pad1d(v(2), [1]), "Cannot apply pad1d with 1 paddings: wanted two"],
  [() => U.pad2d(z(2, 2), [[1, 1]]), "Cannot apply pad2d: wanted 2 pairs of paddings, received 1"],
  [
    () => U.mirrorPad(v(3), [[1, 1]], "mirror"),
    'Cannot mirrorPad in mode mirror: wanted "reflect" or "symmetric"',
  ],
  [
    () => U.mirrorPad(U.scalar(1), [], "reflect"),
    "mirrorPad(scalar) is not defined. Pass non-scalar to mirrorPad",
  ],
  ...[[-1, 1], [1.5], [NaN, 2]].map((shape): Refusal => [
    () => U.broadcastTo(v(1), shape),
    `broadcastTo(): Invalid broadcast shape [${shape}]`,
  ]),
  [() => U.broadcastTo(z(2, 3), [3]), "Cannot broadcast shape [2,3] to [3]"],
  [() => U.broadcastTo(v(2), [-1, 2]), "broadcastTo(): Invalid broadcast shape [-1,2]"],
  [
    () => U.broadcastArgs(z(2, 2), i([1])),
    "Cannot apply broadcastArgs to shape [2,2]: shapes must be vectors (rank=1)",
  ],
  [
    () => U.slice(z(2, 2), [0, 0, 0], [1, 1, 1]),
    "Cannot slice shape [2,2] from [0,0,0] by [1,1,1]: wanted 2 numbers in each",
  ],
  [() => U.slice(v(3), [-1], [1]), "Cannot slice from -1 along axis 0: begin must not be negative"],
  [() => U.slice(v(3), [4], [-1]), "Cannot slice from 4 along axis 0: it has 3 elements"],
  [() => U.slice(v(3), [4], [0]), "Cannot slice 0 elements from 4 along axis 0: it has 3 elements"],
  [
    () => U.slice2d(v(3), [0, 0], [1, 1]),
    "slice2d expects a rank-2 tensor, but got a rank-1 tensor",
  ],
  [
    () => U.stridedSlice(z(2, 2), [0, 0], [1, 1], [1, 1], 0, 0, 3),
    "Multiple ellipses in slice spec not allowed",
  ],
  [
    () => U.stridedSlice(v(2), [0, 0], [1, 1], [1, 1]),
    "Index out of range using input dim 1; input has only 1 dims",
  ],
  [
    () => U.stridedSlice(v(2), [0], [1, 1], [1]),
    "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [1], [2]",
  ],
  [
    () => U.reshape(v(4), [-1, -1]),
    "Cannot reshape to [-1,-1]: only one dimension may be -1, and none smaller",
  ],
  [
    () => U.reshape(v(4), [-2, 2]),
    "Cannot reshape to [-2,2]: only one dimension may be -1, and none smaller",
  ],
];

Deno.test("ops that move elements refuse what cannot be meant, and say what was wrong", async () => {
  await tf.setBackend("cpu");
  await checkRefusals(REFUSALS);
});
