/** The modules that first calls compile: as few as there are kinds of expressions, and none that takes long. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnGpu } from "../../devices.ts";

/** Longest text of a kernel. Adapters that are programs take seconds for more. */
const MOST_TEXT = 32 * 1024;

/** Returns the texts of the modules that `fn` makes. */
async function modulesOf(fn: () => unknown): Promise<string[]> {
  const { prototype } = GPUDevice, { createShaderModule } = prototype, texts: string[] = [];
  prototype.createShaderModule = function (descriptor) {
    texts.push(descriptor.code);
    return createShaderModule.call(this, descriptor);
  };
  try {
    await fn();
  } finally {
    prototype.createShaderModule = createShaderModule;
  }
  return texts;
}

testOnGpu("a sum of 120 sines makes as few modules as one of 40", async () => {
  const sumOf = (n: number) => (x: tf.Tensor): tf.Tensor => {
    let y: tf.Tensor = tf.mul(x, 0.5);
    for (let k = 0; k < n; k++) y = tf.add(y, tf.sin(tf.mul(x, 0.25 + k / 7)));
    return y;
  };
  using x = tf.tensor([0.5, -1, 2, 3]);
  const count = async (n: number): Promise<number> => {
    const f = tf.function(sumOf(n));
    const texts = await modulesOf(async () => {
      using y = f(x);
      const found = await y.data();
      let wanted = 0.25;
      for (let k = 0; k < n; k++) wanted += Math.sin(0.5 * (0.25 + k / 7));
      assertAlmostEquals(found[0], wanted, 1e-3);
    });
    assert(texts.every((text) => text.length < MOST_TEXT), "a text is too long");
    return texts.length;
  };
  assert(await count(40) <= 4);
  // The kernels of the first serve the second.
  assert(await count(120) <= 2);
});

/** Ways to write a cube, whose bits are those of eager code. */
const CUBES: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  "pow(x, 3)": (x) => tf.pow(x, 3),
  "pow(x, a constant)": (x) => tf.pow(x, tf.scalar(3)),
  "the gradient of pow(x, 4)": (x) => tf.div(tf.grad((v) => tf.pow(v, 4))(x), 4),
};
for (const [name, cube] of Object.entries(CUBES)) {
  testOnGpu(`a tanh GELU by ${name} behind a product compiles no power`, async () => {
    const gelu = (x: tf.Tensor): tf.Tensor =>
      tf.mul(
        tf.mul(x, 0.5),
        tf.add(1, tf.tanh(tf.mul(0.7978846, tf.add(x, tf.mul(0.044715, cube(x)))))),
      );
    using a = tf.randomNormal([32, 16], 0, 1, "float32", 1), b = tf.ones([16, 64]);
    const f = tf.function((a: tf.Tensor, b: tf.Tensor) => gelu(tf.matMul(a, b)));
    let found: Float32Array | undefined;
    const texts = await modulesOf(async () => {
      using y = f(a, b);
      found = await y.data() as Float32Array;
    });
    for (const text of texts) assert(!text.includes("pow_(") && text.length < MOST_TEXT, text);
    using product = tf.matMul(a, b), eager = tf.tidy(() => gelu(product));
    assertEquals(found, await eager.data());
  });
}

testOnGpu(
  "a long function behind a product stands at few sums, with the bits of eager code",
  async () => {
    for (const [m, k, n] of [[512, 128, 256], [8, 2048, 64]]) {
      using a = tf.randomNormal([m, k], 0, 0.1, "float32", 1);
      using b = tf.randomNormal([k, n], 0, 0.1, "float32", 2);
      const f = tf.function((a: tf.Tensor, b: tf.Tensor) => tf.sin(tf.matMul(a, b)));
      let found: Float32Array | undefined;
      const texts = await modulesOf(async () => {
        using y = f(a, b);
        found = await y.data() as Float32Array;
      });
      for (const text of texts) {
        if (text.includes("sin_(")) assert(text.split("= finish(").length <= 17, `${m}`);
      }
      using product = tf.matMul(a, b), eager = tf.sin(product);
      assertEquals(found, await eager.data());
    }
  },
);

testOnGpu("whole powers have the same bits compiled and eagerly, at every value", async () => {
  using x = tf.tensor([0, -0, 1, -1, 0.3, -0.3, 1.7, -2.5, 1e-20, -1e20, Infinity, -Infinity, NaN]);
  for (const n of [0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 64, 65, -1, -2, 0.5]) {
    const f = tf.function((v: tf.Tensor) => tf.add(tf.pow(tf.neg(v), n), 0.5));
    using y = f(x), z = tf.tidy(() => tf.add(tf.pow(tf.neg(x), tf.scalar(n)), 0.5));
    assertEquals(await y.data(), await z.data(), `to ${n}`);
  }
});
