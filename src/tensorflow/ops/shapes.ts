/** BroadcastGradientArgs: the axes along which gradients of broadcast operands are summed. */
import { defineOp } from "../../engine/core/op.ts";
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
