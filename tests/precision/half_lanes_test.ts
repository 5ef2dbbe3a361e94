/** float16 in vector code: every half, and every way a float32 can round to one. */
import { assert, assertEquals } from "@std/assert";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { ENGINES } from "../devices/cpu/engines.ts";
import { runFast } from "../devices/cpu/kernel_runs.ts";
import * as tf from "@weft/weft";

const Cast = lookupOp("Cast")!;

function cast(from: "float16" | "float32", to: "float16" | "float32", data: ArrayLike<number>) {
  const array = new NdArray(from, [data.length], data as Float32Array);
  return ENGINES.map(([, engine]) =>
    runFast(engine, Cast, [array], { SrcT: from, DstT: to, Truncate: false })![0].data
  );
}

Deno.test("vector code widens every half to its float32", () => {
  const halves = new Float16Array(Uint16Array.from({ length: 65536 }, (_, i) => i).buffer);
  for (const wide of cast("float16", "float32", halves)) {
    assertEquals(wide, Float32Array.from(halves));
  }
});

Deno.test("vector code rounds floats to the nearest half, ties to the even one", () => {
  const halves = new Float16Array(Uint16Array.from({ length: 31744 }, (_, i) => i).buffer);
  const values: number[] = [0, 65504, 65519.99, 65520, 65536, 1e38, Infinity, NaN, 1e-45, 2 ** -25];
  for (const x of halves) {
    // The half, the middle between it and the next, and the floats beside that.
    const next =
      new Float16Array(Uint16Array.of(new Uint16Array(Float16Array.of(x).buffer)[0] + 1).buffer)[0];
    const middle = Number.isFinite(next) ? (x + next) / 2 : 65520;
    values.push(x, middle, middle * (1 - 2 ** -23), middle * (1 + 2 ** -23));
  }
  const floats = Float32Array.from(values.flatMap((x) => [x, -x]));
  for (const narrow of cast("float32", "float16", floats)) {
    assertEquals(narrow, Float16Array.from(floats));
  }
});

Deno.test("float16 random numbers stay below 1, at steps of 1/2048", async () => {
  await tf.setBackend("cpu");
  using x = tf.randomUniform([4099], 0, 1, "float16");
  const values = await x.data<"float16">() as Float16Array;
  assert(values.every((v) => v >= 0 && v < 1 && Number.isInteger(v * 2048)));
});

Deno.test("few rows of float16 take what follows the product, and keep the result's dtype", async () => {
  await tf.setBackend("cpu");
  const after: Readonly<Record<string, (y: tf.Tensor) => tf.Tensor>> = {
    nothing: (y) => y,
    relu: (y) => tf.relu(y),
    "a bias": (y) => tf.add(y, tf.cast([1, 2, 3, 4, 5, 6, 7, 8], "float16")),
    "a mask": (y) => tf.where(tf.greater(y, 0), y, tf.cast(-1, "float16")),
    "a cast to float32": (y) => tf.cast(y, "float32"),
    "a cast to int32": (y) => tf.cast(y, "int32"),
  };
  for (const rows of [1, 3, 4, 9]) {
    for (const [name, then] of Object.entries(after)) {
      using _scope = tf.scope();
      const a = tf.cast(tf.randomNormal([rows, 4], 0, 1, "float32", rows), "float16");
      const b = tf.cast(tf.randomNormal([4, 8], 0, 1, "float32", 7), "float16");
      const eager = then(tf.matMul(a, b));
      const compiled = tf.function((a: tf.Tensor, b: tf.Tensor) => then(tf.matMul(a, b)))(a, b);
      assertEquals(compiled.dtype, eager.dtype);
      assertEquals(await compiled.array(), await eager.array(), `${name} behind ${rows} rows`);
      const fused = tf.fused.matMul({ a, b });
      assertEquals(await fused.array(), await tf.matMul(a, b).array(), `fused, ${rows} rows`);
    }
  }
});
