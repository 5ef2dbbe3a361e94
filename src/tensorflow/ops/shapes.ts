/** Shapes of gradients: axes along which broadcast operands are summed, and places of joined parts. */
import { defineOp } from "../../engine/core/op.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { hostInts } from "../../engine/ops/array/view.ts";
import { refuse, wholeArray } from "../../engine/ops/host/arrays.ts";

/** Returns the axes of the common shape along which the first operand was repeated, and the second. */
function repeatedAxes(a: readonly number[], b: readonly number[]): [number[], number[]] {
  const rank = Math.max(a.length, b.length);
  const out: [number[], number[]] = [[], []];
  for (let i = 0; i < rank; i++) {
    const x = a[a.length - rank + i] ?? 1, y = b[b.length - rank + i] ?? 1;
    if (x !== y && x !== 1 && y !== 1) refuse(`Incompatible shapes: [${a}] vs. [${b}]`);
    if (x === 1) out[0].push(i);
    if (y === 1) out[1].push(i);
  }
  return out;
}

defineOp({
  name: "BroadcastGradientArgs",
  inputs: ["s0: T", "s1: T"],
  outputs: ["r0: T", "r1: T"],
  attrs: ["T: index = int32"],
  infer: () => [[null], [null]],
  grad: null,
  cpu: ([s0, s1], _, { attrs }) => {
    return repeatedAxes(hostInts(s0), hostInts(s1)).map((axes) => wholeArray(attrs.T, axes));
  },
});

/** Returns the place where each part of a concatenation begins. */
function partPlaces(axis: NdArray, shapes: readonly NdArray[]): number[][] {
  if (axis.shape.length > 0) {
    refuse(`Concat dim tensor should be a scalar integer, but got shape [${axis.shape}]`);
  }
  shapes.forEach(({ shape }, i) => {
    if (shape.length === 1) return;
    refuse(`input ${i} should be a vector, but got shape [${shape}]`);
  });
  const [first, ...others] = shapes.map(hostInts), rank = first.length, given = hostInts(axis)[0];
  const at = given < 0 ? given + rank : given;
  if (at < 0 || at >= rank) refuse(`Concat dim is out of range: ${at} vs. ${rank}`);
  others.forEach((dims, i) => {
    if (dims.length !== rank) {
      refuse(`input ${i + 1} should contain ${rank} elements, but got ${dims.length}`);
    }
    if (dims.every((d, k) => k === at || d === first[k])) return;
    refuse(
      `All dimensions except ${at} must match. Input ${
        i + 1
      } has shape [${dims}] and doesn't match input 0 with shape [${first}]`,
    );
  });
  let next = 0;
  return [first, ...others].map((dims) => {
    const begin = next;
    next += dims[at];
    return dims.map((_, k) => (k === at ? begin : 0));
  });
}

defineOp({
  name: "ConcatOffset",
  inputs: ["concat_dim: int32", "shape: N * T"],
  outputs: ["offset: N * T"],
  attrs: ["N: int >= 2", "T: index = int32"],
  infer: ([, ...shapes]) => shapes.map(({ shape }) => shape),
  grad: null,
  cpu: ([axis, ...shapes], _, { attrs }) =>
    partPlaces(axis, shapes).map((begin) => wholeArray(attrs.T, begin)),
});
