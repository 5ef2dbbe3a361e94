/** Attention that reads the result of attention, in the orders of axes that join their views: plans join each, or leave its parts. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { difference } from "../../src/library/testing/compare.ts";
import { testOnDevices } from "../devices.ts";
import { some } from "../effort.ts";
import { optimized, PASS_NAMES, withPasses } from "../graph/graph_text.ts";
import { noise } from "../ops/values.ts";

const [B, H, N, D] = [2, 3, 3, 4];

type Step = (x: tf.Tensor) => tf.Tensor;

const attend = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor): tf.Tensor =>
  tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), 0.5)), v);
const turned: Step = (x) => tf.transpose(x, [0, 2, 1, 3]);

const KEYS = tf.constant(noise("float32", [B, H, N, D], 8));
/** The step whose gradient is that of its queries alone, turned back. */
const QUERIES = "queries alone, turned around";

/** Steps from `[B, H, N, D]` to the same shape; heads and rows are as many, so that any order of axes fits. */
const STEPS: Readonly<Record<string, Step>> = {
  "heads outside": (x) => attend(x, x, x),
  "turned after": (x) => turned(attend(x, x, x)),
  "turned before": (x) => attend(turned(x), turned(x), turned(x)),
  "turned around": (x) => turned(attend(turned(x), turned(x), turned(x))),
  "keys and values alone": (x) => attend(tf.cos(x), turned(x), x),
  "one key": (x) => {
    const rows = tf.reshape(x, [-1, 1, D]);
    return tf.reshape(attend(rows, tf.cos(rows), rows), x.shape);
  },
  "the op": (x) => tf.scaledDotProductAttention(x, x, x) as tf.Tensor,
  "the op, causal and turned": (x) =>
    turned(tf.scaledDotProductAttention(x, turned(x), turned(x), { causal: true })),
};
const ALL_STEPS: Readonly<Record<string, Step>> = {
  ...STEPS,
  [QUERIES]: (x) => turned(attend(turned(x), KEYS, tf.cos(KEYS))),
};
const CHAINS = Object.keys(STEPS).flatMap((a) => Object.keys(STEPS).map((b) => [a, b] as const));
const PLAIN = PASS_NAMES.filter((name) => name !== "attention");
/** Parts of float16 round each of their results, and the op its last. */
const TOLERANCES = {
  float32: { ulps: 128, ulpsOfLargest: 128, absolute: 2e-6 },
  float16: { ulps: 0, ulpsOfLargest: 0, absolute: 0.01 },
};

const applied = (chain: readonly string[], x: tf.Tensor): tf.Tensor =>
  chain.reduce((x, name) => ALL_STEPS[name](x), x);

async function run(
  chain: readonly string[],
  passes: typeof PASS_NAMES,
  dtype: "float16" | "float32",
): Promise<tf.NdArray[]> {
  const graph = new tf.Graph();
  const [x, fetches] = graph.asDefault(() => {
    const x = tf.placeholder("float32", [B, H, N, D]);
    const y = tf.cast(applied(chain, tf.cast(x, dtype)), "float32");
    const [grad] = tf.gradients(tf.mul(y, tf.sin(y)), [x]) as tf.Tensor[];
    return [x, [y, grad]];
  });
  await using session = new tf.Session({ graph });
  const feeds = new Map([[x, noise("float32", [B, H, N, D], 3)]]);
  return await withPasses(passes, () => session.run(fetches, { feeds })) as tf.NdArray[];
}

for (const dtype of ["float32", "float16"] as const) {
  testOnDevices(
    `attention of ${dtype} that reads attention has the values and gradients of its parts`,
    async (on) => {
      const longer = [["turned after", "turned around", "one key"], ["one key", QUERIES]];
      // Plans are the same on each device.
      for (const chain of [...on === "webgpu" ? some(CHAINS, 24) : CHAINS, ...longer]) {
        const made = await run(chain, PASS_NAMES, dtype), wanted = await run(chain, PLAIN, dtype);
        made.forEach((x, i) => {
          const wrong = difference(x, wanted[i], "float32", TOLERANCES[dtype]);
          assert(wrong === null, `${chain.join(", ")} on ${on}: result ${i} ${wrong}`);
        });
      }
    },
  );
}

Deno.test("attention that reads turned attention is two ops", () => {
  const lines = optimized(() =>
    applied(["turned after", "heads outside"], tf.placeholder("float32", [B, H, N, D]))
  );
  assertEquals(lines.filter((line) => line.includes("_FusedAttention")).length, 2);
});
