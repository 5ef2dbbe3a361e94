/**
 * BroadcastGradientArgs: the axes along which gradients of broadcast operands are summed.
 */
import { InvalidArgumentError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";

/** Axes of the common shape along which the first operand was repeated, and the second. */
function repeatedAxes(a: readonly number[], b: readonly number[]): [number[], number[]] {
  const rank = Math.max(a.length, b.length);
  const out: [number[], number[]] = [[], []];
  for (let i = 0; i < rank; i++) {
    const x = a[a.length - rank + i] ?? 1, y = b[b.length - rank + i] ?? 1;
    if (x !== y && x !== 1 && y !== 1) {
      throw new InvalidArgumentError(
        `Incompatible shapes: [${a}] vs. [${b}]`,
        { op: "BroadcastGradientArgs" },
      );
    }
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
    const list = (x: NdArray): number[] => Array.from(x.data as ArrayLike<number | bigint>, Number);
    return repeatedAxes(list(s0), list(s1)).map((axes) =>
      new NdArray(
        attrs.T,
        [axes.length],
        attrs.T === "int64" ? BigInt64Array.from(axes, BigInt) : Int32Array.from(axes),
      )
    );
  },
});
