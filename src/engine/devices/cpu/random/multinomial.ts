/** Indices drawn with the probabilities of a softmax. */
import { sizeOf } from "../../../core/shape.ts";
import { roundUp } from "../blocks.ts";
import { type Engine, type WasmExports, words } from "../engine.ts";
import type { FastPrepare } from "../fast.ts";
import { RowWriter } from "../rows/row_writer.ts";
import { exponentials } from "../rows/rows.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32, f64, i32 } from "../wasm/instructions.ts";
import { Simd } from "../wasm/simd.ts";
import { keyAt, uniformRun } from "./random.ts";

type I = Local<"i32">;

export const prepareMultinomial: FastPrepare = (engine, { inputs, outputs: [out], hosts }) => {
  const [{ dtype, shape: [batch, classes] }, , seed] = inputs, size = sizeOf(out.shape);
  const known = dtype === "float32" && out.dtype === "int32" && seed.dtype === "int32";
  if (!known || hosts[2] !== undefined || classes === 0) return null;
  const uniform = uniformRun(engine), { weigh, draw } = multinomialModule(engine);
  const weightBytes = roundUp(4 * batch * classes), numberBytes = roundUp(4 * size);
  // A search begins with the largest power of two below the number of classes.
  const step = classes < 2 ? 0 : 2 ** (31 - Math.clz32(classes - 1));
  return ([o], [x, , key]) => {
    const weights = engine.scratch(weightBytes + numberBytes + 8 * (classes + step));
    const numbers = weights + weightBytes, sums = numbers + numberBytes;
    uniform(numbers, size, ...keyAt(engine, key));
    weigh(weights, x, batch, classes);
    draw(weights, batch, classes, numbers, out.shape[1], step, sums, o);
  };
};

/** Exports `weigh(y, x, m, n)`, which takes exponentials, and `draw`. */
function multinomialModule(engine: Engine): WasmExports {
  return engine.compile("multinomial", (m) => {
    m.function("weigh", ["i32", "i32", "i32", "i32"], null, (f, y, x, rows, n) => {
      const w = new RowWriter(new Simd(f, engine.features.relaxed), [y, x], rows, n);
      w.each(() => void exponentials(w, 1, w.greatest(1), (e, { put }) => put(0, e)));
    });
    m.function("draw", words(8), null, (f, ...p) => writeDraw(f, p));
  });
}

/** Parameters: weights, their rows and length, uniform numbers, numbers for each row, first step, room for sums, to. */
function writeDraw(
  f: FunctionBuilder,
  [weights, batch, classes, numbers, samples, first, sums, out]: readonly I[],
): void {
  const total = f.local("f64"), target = f.local("f64");
  const [sum, step, low, next] = f.locals("i32", 4);
  f.countDown(batch, 1, () => {
    f.set(total, 0);
    f.set(sum, sums);
    f.times(classes, () => {
      f.set(total, f64.add(total, f64.ofF32(f32.load(weights))));
      f.store(sum, total);
      f.advance(weights, 4);
      f.advance(sum, 8);
    });
    f.times(samples, () => {
      f.set(target, f64.mul(f64.ofF32(f32.load(numbers)), total));
      f.set(low, 0);
      f.set(step, first);
      // Sums up to `low` do not exceed the target; the search has no branches.
      f.while(step, () => {
        f.set(next, i32.add(low, step));
        const at = i32.sub(i32.add(sums, i32.shl(next, 3)), 8);
        const taken = i32.and(i32.lt(next, classes), i32.eqz(f64.gt(f64.load(at), target)));
        f.advance(low, i32.and(step, i32.sub(0, taken)));
        f.set(step, i32.shrU(step, 1));
      });
      f.store(out, low);
      f.advance(numbers, 4);
      f.advance(out, 4);
    });
  });
}
