/** Attention of float16, as exporters write it: plans compute it in float32 as one op, and round the result once. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { optimized } from "../graph/graph_text.ts";
import { testOnDevices } from "../devices.ts";
import { noise } from "../ops/values.ts";
import { fuseAll } from "./fused.ts";

type Attend = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask: tf.Tensor) => tf.Tensor;

const half = (x: tf.Tensor): tf.Tensor => tf.cast(x, "float16");
const wide = (x: tf.Tensor): tf.Tensor => tf.cast(x, "float32");
const scores = (q: tf.Tensor, k: tf.Tensor): tf.Tensor => tf.matMul(q, k, false, true);

const FORMS: Readonly<Record<string, Attend>> = {
  "a softmax in float32": (q, k, v) => tf.matMul(half(tf.softmax(wide(scores(q, k)))), v),
  "a softmax in float16, scaled before": (q, k, v) =>
    tf.matMul(tf.softmax(tf.mul(scores(q, k), 0.25)), v),
  "a mask of float16": (q, k, v, mask) =>
    tf.matMul(half(tf.softmax(wide(tf.add(tf.mul(scores(q, k), 0.25), mask)))), v),
  "a mask of float32": (q, k, v, mask) =>
    tf.matMul(half(tf.softmax(tf.add(tf.mul(wide(scores(q, k)), 0.25), wide(mask)))), v),
  "a mask to choose by": (q, k, v, mask) =>
    tf.matMul(
      half(tf.softmax(wide(tf.where(tf.less(mask, 0), half(tf.scalar(-1e4)), scores(q, k))))),
      v,
    ),
};

for (const [what, attend] of Object.entries(FORMS)) {
  const shape = [2, 3, 6, 8];
  Deno.test(`attention of float16 with ${what} is one op in plans`, () => {
    const build = (): tf.Tensor => {
      const [q, k, v] = ["q", "k", "v"].map((name) => tf.placeholder("float16", shape, name));
      return attend(q, k, v, tf.placeholder("float16", [6, 6], "m"));
    };
    for (const target of ["CPU", "GPU"] as const) {
      const lines = optimized(build, undefined, target);
      const count = (op: string): number => lines.filter((l) => l.includes(` = ${op}(`)).length;
      assertEquals(
        [count("_FusedAttention"), count("BatchMatMulV2"), count("Softmax")],
        [1, 0, 0],
        lines.join("\n"),
      );
    }
  });

  testOnDevices(`attention of float16 with ${what} is that of float32, rounded`, async () => {
    const [q, k, v] = [1, 2, 3].map((seed) => half(tf.tensor(noise("float32", shape, seed))));
    const hidden = Float32Array.from(
      { length: 36 },
      (_, i) => i % 6 <= Math.floor(i / 6) ? 0 : -1e4,
    );
    const mask = half(tf.tensor(hidden, [6, 6])), f = tf.function(attend);
    using _all = fuseAll();
    const found = f(q, k, v, mask);
    assertEquals(found.dtype, "float16");
    const wanted = attend(wide(q), wide(k), wide(v), wide(mask));
    const wrong = await tf.max(tf.abs(tf.sub(wide(found), wide(wanted)))).item();
    assert(wrong < 2e-3, `${wrong}`);
  });
}

Deno.test("attention of float16 whose shares are read elsewhere stays apart", () => {
  const lines = optimized(() => {
    const [q, k, v] = ["q", "k", "v"].map((name) => tf.placeholder("float16", [2, 3, 6, 8], name));
    const shares = half(tf.softmax(wide(scores(q, k))));
    return [tf.matMul(shares, v), shares];
  });
  assertEquals(lines.filter((l) => l.includes("_FusedAttention")), [], lines.join("\n"));
});

Deno.test("attention of float16 that reads attention of float16 through views is planned", () => {
  const lines = optimized(() => {
    const [q, k, v] = ["q", "k", "v"].map((name) => tf.placeholder("float16", [2, 3, 6, 8], name));
    let x = q!;
    for (let i = 0; i < 3; i++) {
      const y = tf.matMul(half(tf.softmax(wide(scores(x, k!)))), v!);
      x = tf.transpose(tf.transpose(y, [0, 2, 1, 3]), [0, 2, 1, 3]);
    }
    const turned = tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [2, 6, 3, 8]);
    return tf.matMul(half(tf.softmax(wide(scores(turned, turned)))), turned);
  });
  assert(lines.some((l) => l.includes("_FusedAttention")), lines.join("\n"));
});
