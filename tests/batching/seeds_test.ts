/** Draws by a seed of each row are the draws of each seed. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { testOnDevices } from "../devices.ts";

type Fn = (seed: tf.Tensor) => tf.Tensor;

const picture = (): tf.Tensor => tf.div(tf.reshape(tf.range(0, 48, 1, "float32"), [4, 4, 3]), 48);

const DRAWS: Readonly<Record<string, Fn>> = {
  "uniform numbers": (s) => tf.random.statelessUniform([5], s),
  "four at a time": (s) => tf.random.statelessUniform([2, 4], s, -1, 3),
  "a number": (s) => tf.random.statelessUniform([], s),
  "no numbers": (s) => tf.random.statelessUniform([0, 2], s),
  "halves": (s) => tf.random.statelessUniform([3, 3], s, 0, 1, "float16"),
  "doubles": (s) => tf.random.statelessNormal([3], s, 0, 1, "float64"),
  "normal numbers": (s) => tf.random.statelessNormal([3, 3], s, 1, 2),
  "truncated numbers": (s) => tf.random.statelessTruncatedNormal([8], s),
  "whole numbers": (s) => tf.random.statelessUniformInt([7], s, -3, 10),
  "classes": (s) => tf.random.statelessCategorical([[0, 1, 2], [2, 1, 0]], 5, s, "int32"),
  "gamma": (s) => tf.random.statelessGamma([4], s, 2),
  "Poisson": (s) => tf.random.statelessPoisson([4], s, 3),
  "binomial": (s) => tf.random.statelessBinomial([4], s, 5, 0.3),
  "split seeds": (s) => {
    const [a, b] = tf.unstack(tf.random.split(s)) as [tf.Tensor, tf.Tensor];
    return tf.add(tf.random.statelessNormal([3], a), tf.random.statelessUniform([3], b));
  },
  "folded seeds": (s) => tf.random.statelessUniform([2], tf.random.foldIn(s, 3)),
  "a turned picture": (s) => tf.image.statelessRandomFlipLeftRight(picture(), s),
  "a brighter picture": (s) => tf.image.statelessRandomBrightness(picture(), 0.4, s),
  "another hue": (s) => tf.image.statelessRandomHue(picture(), 0.4, s),
  "a cut of a picture": (s) => tf.image.statelessRandomCrop(picture(), [2, 3, 3], s),
};

/** Draws that go row by row, which a warning says. */
const IN_LOOPS: ReadonlySet<string> = new Set(["StatelessMultinomial", "StatelessRandomGammaV2"]);

const SEEDS = [[1, 2], [3, -4], [2_000_000_000, 5], [1, 3]];

async function same(found: tf.Tensor, wanted: readonly tf.Tensor[], of: string): Promise<void> {
  const all = tf.stack([...wanted]);
  assertEquals([found.dtype, found.shape], [all.dtype, all.shape], of);
  const [a, b] = await Promise.all([found.data(), all.data()]);
  const near = Array.from(a, Number).every((v, i) => Math.abs(v - Number(b[i])) <= 1e-5);
  assert(near, `${of}: ${a}, wanted ${b}`);
}

for (const [name, draw] of Object.entries(DRAWS)) {
  testOnDevices(`vmap() draws ${name} by a seed of each row`, async () => {
    using _scope = tf.scope();
    const { write } = loopWarning;
    loopWarning.named.clear();
    loopWarning.write = () => {};
    try {
      const seeds = tf.tensor(SEEDS, [4, 2], "int32"), wanted = tf.unstack(seeds).map(draw);
      const open = { inputSignature: [tf.TensorSpec([null, 2], "int32")] };
      await same(tf.vmap(draw)(seeds), wanted, "eagerly");
      await same(await tf.function(tf.vmap(draw)).async(seeds), wanted, "in a function");
      await same(await tf.function(tf.vmap(draw), open).async(seeds), wanted, "of open extents");
      const nested = tf.vmap(tf.vmap(draw))(tf.reshape(seeds, [2, 2, 2]));
      await same(tf.reshape(nested, [4, ...nested.shape.slice(2)]), wanted, "rows of rows");
      assertEquals(tf.vmap(draw)(tf.zeros([0, 2], "int32")).shape, [0, ...wanted[0]!.shape]);
      assertEquals([...loopWarning.named].filter((op) => !IN_LOOPS.has(op)), []);
    } finally {
      loopWarning.write = write;
    }
  });
}

testOnDevices("vmap() cuts slices that begin elsewhere in each row, with gradients", async () => {
  using _scope = tf.scope();
  const x = tf.reshape(tf.range(0, 60, 1, "float32"), [3, 4, 5]);
  const at = tf.tensor([[0, 1], [2, 3], [1, 0]], [3, 2], "int32");
  const cut = (x: tf.Tensor, at: tf.Tensor) => tf.slice(x, at as never, [2, 2]);
  const rows = tf.unstack(x).map((row, i) => cut(row, tf.gather(at, i) as tf.Tensor));
  await same(tf.vmap(cut)(x, at), rows, "of rows");
  await same(await tf.function(tf.vmap(cut)).async(x, at), rows, "in a function");
  const one = tf.gather(x, 0) as tf.Tensor;
  const ofOne = tf.vmap(cut, { inAxes: [null, 0] });
  await same(ofOne(one, at), tf.unstack(at).map((at) => cut(one, at)), "of one array");
  const slope = tf.grad((x: tf.Tensor) => tf.sum(tf.square(ofOne(x, at))))(one);
  const each = tf.unstack(at).map((at) =>
    tf.grad((x: tf.Tensor) => tf.sum(tf.square(cut(x, at))))(one)
  );
  assertEquals(await slope.array(), await tf.addN(each).array());
});

testOnDevices("vmap() pools fractions of each row by the windows of a seed", async () => {
  using _scope = tf.scope();
  const x = tf.sin(tf.reshape(tf.range(0, 2 * 36, 1, "float32"), [2, 1, 6, 6, 1]));
  const pooled = (x: tf.Tensor) => tf.nn.fractionalMaxPool(x, 1.5, true, false, 5)[0] as tf.Tensor;
  const wanted = tf.unstack(x).map(pooled);
  await same(tf.vmap(pooled)(x), wanted, "eagerly");
  const loss = (x: tf.Tensor) => tf.sum(tf.square(pooled(x)));
  await same(tf.vmap(tf.grad(loss))(x), tf.unstack(x).map((row) => tf.grad(loss)(row)), "gradient");
});
