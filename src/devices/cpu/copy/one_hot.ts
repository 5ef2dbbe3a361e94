/**
 * One-hot rows: filled and marked in one pass over memory.
 */
import { DTYPES } from "../../../core/dtype.ts";
import { normalizeAxis, sizeOf } from "../../../core/shape.ts";
import { oneHotLayout } from "../../../kernels/copy/number.ts";
import type { FastPrepare } from "../fast.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { TURN, wordOf } from "./fill.ts";

/** Indices before the axis, of a part: so many fill whole turns. */
const GROUPS = 16;

/** Bytes that are filled before they are marked: what stays in the nearest cache. */
const AT_ONCE = 16384;

export const prepareOneHot: FastPrepare = (
  engine,
  { inputs: [x], outputs: [out], hosts, attrs },
) => {
  if (x.dtype !== "int32" || DTYPES[out.dtype].bytes !== 4) return null;
  const [, depths, on, off] = hosts.map((host) => Number(host?.item()));
  const axis = normalizeAxis(attrs.axis as number, x.shape.length + 1);
  const { outer, depth, inner } = oneHotLayout(x.shape, depths, axis);
  const groupBytes = 4 * depth * inner, bytes = 4 * sizeOf(out.shape);
  if (bytes === 0) return () => {};
  const run = kernel(engine, "one hot", 8, ({ f }, p) => writeOneHot(f, p));
  const most = Math.max(1, Math.floor(AT_ONCE / groupBytes));
  const further = [most, depth, inner, wordOf(out.dtype, on), wordOf(out.dtype, off)];
  const pieces = { count: outer, work: bytes, multiple: GROUPS };
  return ([o], [p]) =>
    engine.inParts(run, pieces, (from, size) => {
      return [o + from * groupBytes, p + 4 * from * inner, size, ...further];
    });
};

/** Parameters: to, indices, groups, of them at once, depth, indices of a group, word where they point, word elsewhere. */
function writeOneHot(
  f: FunctionBuilder,
  [out, indices, groups, most, depth, inner, on, off]: readonly I[],
): void {
  const words = f.let(i32x4.splat(off)), at = f.variable("i32", out);
  const bytes = f.let(i32.shl(i32.mul(depth, inner), 2)), column = f.let(i32.shl(inner, 2));
  // Bytes that are filled of these groups, and then what lies beyond them: less than a turn.
  const filled = f.local("i32"), wanted = f.local("i32"), index = f.local("i32");
  f.while(i32.gt(groups, 0), () => {
    f.if(i32.gt(most, groups), () => f.set(most, groups));
    f.set(wanted, i32.mul(most, bytes));
    f.while(i32.lt(filled, wanted), () => {
      for (let u = 0; u < TURN; u += 16) f.store(at, words, u);
      f.advance(at, TURN);
      f.advance(filled, TURN);
    });
    f.set(filled, i32.sub(filled, wanted));
    f.times(most, () => {
      f.times(inner, (i) => {
        f.set(index, i32.load(indices));
        f.if(i32.ltU(index, depth), () => {
          f.store(i32.add(out, i32.add(i32.mul(index, column), i32.shl(i, 2))), on);
        });
        f.advance(indices, 4);
      });
      f.advance(out, bytes);
    });
    f.set(groups, i32.sub(groups, most));
  });
}
