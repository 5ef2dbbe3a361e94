/** Counts values, for bincount and histograms. */
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import { negativeValue } from "../../../kernels/host/count.ts";
import { type Engine, words } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32, i32 } from "../wasm/instructions.ts";

/** Update of a value's bin. */
type Kind = "one more" | "its weight more" | "one";

/** Prepares a count of all values of the input, or of those of each row. */
export function prepareCount(engine: Engine, problem: Problem, flat: boolean): FastRun | null {
  const { inputs: [x, , weights], outputs: [out], hosts, attrs } = problem;
  const isFloat = out.dtype === "float32";
  if (x.dtype !== "int32" || !(isFloat || out.dtype === "int32")) return null;
  const weighted = sizeOf(weights.shape) > 0;
  const kind = attrs.binary_output ? "one" : weighted ? "its weight more" : "one more";
  const { run } = engine.compile(`count ${isFloat} ${kind}`, (m) => {
    m.function("run", words(6), "i32", (f, ...p) => writeCount(f, isFloat, kind, p));
  });
  const n = flat || x.shape.length < 2 ? sizeOf(x.shape) : x.shape[1];
  const rows = n === 0 ? 0 : sizeOf(x.shape) / n;
  const size = Number(hosts[1]!.item()), bytes = 4 * sizeOf(out.shape);
  return ([o], [p, , w]) => {
    engine.zero(o, bytes);
    const negative = run(p, rows, n, size, o, w);
    if (negative < 0) throw negativeValue(negative);
  };
}

/** Writes the count; it returns a negative value, or 0 where there is none. */
function writeCount(
  f: FunctionBuilder,
  isFloat: boolean,
  kind: Kind,
  [x, rows, n, size, bins, weights]: readonly I[],
): void {
  const value = f.local("i32"), bin = f.local("i32"), left = f.local("i32");
  const type = isFloat ? f32 : i32;
  const add = (to: I): void => {
    const more = kind === "one more" ? type.const(1) : type.load(weights);
    if (kind === "one") f.store(to, type.const(1));
    else if (isFloat) f.store(to, f32.add(f32.load(to), more as never));
    else f.store(to, i32.add(i32.load(to), more as never));
  };
  f.countDown(rows, 1, () => {
    f.set(left, n);
    f.countDown(left, 1, () => {
      f.set(value, i32.load(x));
      f.if(i32.ltU(value, size), () => {
        f.set(bin, i32.add(bins, i32.shl(value, 2)));
        add(bin);
      }, () => f.if(i32.lt(value, 0), () => f.return(value)));
      f.advance(x, 4);
      if (kind === "its weight more") f.advance(weights, 4);
    });
    f.advance(bins, i32.shl(size, 2));
  });
  f.result(i32.const(0));
}
