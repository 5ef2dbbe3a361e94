/** Rounds sums in float64 to results in float32. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, f64, f64x2, i32 } from "../wasm/instructions.ts";

type I = Local<"i32">;

/** `run(out, sums, n, divisor)` rounds `n` sums after dividing them; it takes whole vectors. */
export function settleSums(engine: Engine): WasmFunction {
  return engine.compile("settle sums", (m) => {
    m.function("run", ["i32", "i32", "i32", "f64"], null, writeSettle);
  }).run;
}

export function writeSettle(
  f: FunctionBuilder,
  out: I,
  sums: I,
  n: I,
  divisor: Local<"f64">,
): void {
  const by = f.let(f64x2.splat(divisor));
  const halves = [0, 1].map(() => f.local("f64x2"));
  f.while(i32.gt(n, 0), () => {
    halves.forEach((half, h) => f.set(half, f64x2.load(sums, 16 * h)));
    f.if(f64.ne(divisor, 1), () => halves.forEach((half) => f.set(half, f64x2.div(half, by))));
    const [low, high] = halves.map((half) => f32x4.ofF64(half));
    f.store(out, f32x4.shuffle(low, high, [0, 1, 4, 5]));
    f.advance(out, 16);
    f.advance(sums, 32);
    f.advance(n, -4);
  });
}
