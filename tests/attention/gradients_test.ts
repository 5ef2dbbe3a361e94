/** Gradients of attention as one op: beside float64, in every way to run them, and in memory that grows with the length. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals } from "@std/assert";
import { attentionOptions } from "../../src/engine/graph/passes/attention.ts";
import { testOnDevices } from "../devices.ts";
import { testOnGpu } from "../ops/force_variant.ts";
import { noise } from "../ops/values.ts";
import { fuseAll } from "./fused.ts";

const [B, N, M, H, G, D] = [2, 5, 7, 4, 2, 8];

/** Calls with plans that fuse small attentions too. */
async function fused<T>(run: () => Promise<T>): Promise<T> {
  using _all = fuseAll();
  return await run();
}

type Loss = (inputs: tf.Tensor[]) => tf.Tensor;

/** Options by name; masks are made of whatever dtype the operands have. */
const OPTIONS: Record<string, (dtype: tf.DType) => tf.AttentionOptions> = {
  "nothing": () => ({}),
  "later keys": () => ({ causal: true }),
  "a mask and a cap": () => ({
    mask: tf.greater(tf.tensor(noise("float32", [B, 1, N, M], 9)), -0.5),
    softcap: 2,
  }),
  "a bias and a window": (dtype) => ({
    bias: tf.cast(tf.tensor(noise("float32", [1, H, N, M], 8)), dtype),
    window: [3, 2],
    causal: true,
  }),
  "lengths": () => ({ keyLengths: tf.tensor([4, 7], [2], "int32") }),
};

function lossOf(options: (dtype: tf.DType) => tf.AttentionOptions): Loss {
  return ([q, k, v]) => {
    const y = tf.scaledDotProductAttention(q, k, v, options(q.dtype as tf.DType));
    return tf.sum(tf.mul(y, tf.sin(y)));
  };
}

function near(found: readonly tf.Tensor[], wanted: readonly tf.Tensor[], text: string): void {
  found.forEach((x, i) => {
    const numbers = wanted[i].dataSync() as ArrayLike<number>;
    (x.dataSync() as Float32Array).forEach((value, at) =>
      assertAlmostEquals(value, numbers[at], 2e-5, `${text}: operand ${i} at ${at}`)
    );
  });
}

for (const [name, options] of Object.entries(OPTIONS)) {
  testOnDevices(
    `gradients of attention with ${name} are those of float64 in every way`,
    async () => {
      const arrays = [[B, N, H, D], [B, M, G, D], [B, M, G, D]].map((s, i) =>
        noise("float32", s, i)
      );
      const loss = lossOf(options), exact = arrays.map((x) => tf.cast(tf.tensor(x), "float64"));
      const wanted = tf.grads((...x: tf.Tensor[]) => loss(x))(exact) as tf.Tensor[];
      // A step along the gradient changes the loss by its square: finite differences.
      const step = 1e-6,
        moved = (sign: number): number =>
          loss(exact.map((x, i) => tf.add(x, tf.mul(wanted[i], sign * step)))).item();
      const slope = tf.addN(wanted.map((g) => tf.sum(tf.square(g)))).item();
      assertAlmostEquals((moved(1) - moved(-1)) / (2 * step), slope, 1e-5 * slope);

      const inputs = arrays.map((x) => tf.tensor(x));
      const gradients = (x: tf.Tensor[]): tf.Tensor[] =>
        tf.grads((...x: tf.Tensor[]) => loss(x))(x) as tf.Tensor[];
      near(gradients(inputs), wanted, "eager");
      await fused(async () => {
        const compiled = tf.function((...x: tf.Tensor[]) => gradients(x));
        near(compiled(...inputs), wanted, "compiled");
        const again = tf.recomputeGrad((...x: tf.Tensor[]) => loss(x));
        const recomputed = tf.function((...x: tf.Tensor[]) =>
          tf.grads((...x: tf.Tensor[]) => again(...x))(x) as tf.Tensor[]
        );
        near(recomputed(...inputs), wanted, "recomputed");
        const looped = tf.function((...x: tf.Tensor[]) => {
          const zeros = x.map((y) => tf.zerosLike(y));
          const [, ...sums] = tf.whileLoop(
            (i: tf.Tensor) => tf.less(i, 2),
            (i: tf.Tensor, ...sums: tf.Tensor[]) => [
              tf.add(i, 1),
              ...gradients(x).map((g, j) => tf.add(sums[j], tf.mul(g, 0.5))),
            ],
            [tf.scalar(0, "int32"), ...zeros],
          ) as tf.Tensor[];
          return sums;
        });
        near(looped(...inputs), wanted, "in a loop");
        const graph = new tf.Graph();
        const [feeds, fetches] = graph.asDefault(() => {
          const feeds = arrays.map((x, i) => tf.placeholder("float32", x.shape, `x${i}`));
          return [feeds, tf.gradients(loss(feeds), feeds) as tf.Tensor[]];
        });
        await using session = new tf.Session({ graph });
        const found = await session.run(fetches, {
          feeds: new Map(feeds.map((x, i) => [x, arrays[i]])),
        }) as tf.NdArray[];
        near(found.map((x) => tf.tensor(x)), wanted, "session");
      });
    },
  );
}

testOnDevices("dropout in the gradient of attention is that of the forward pass", async () => {
  const x = tf.tensor(noise("float32", [1, 6, 2, 8], 3));
  const loss = (x: tf.Tensor): tf.Tensor =>
    tf.sum(tf.square(tf.scaledDotProductAttention(x, x, x, { dropout: 0.4, seed: 5 })));
  const run = (): tf.Tensor[] => {
    tf.setRandomSeed(2);
    const f = tf.function((x: tf.Tensor) => {
      const { value, grad } = tf.valueAndGrad(loss)(x);
      return [value, grad];
    });
    return f(x) as tf.Tensor[];
  };
  const { leastOnCpu } = attentionOptions;
  attentionOptions.leastOnCpu = Infinity;
  const wanted = run();
  attentionOptions.leastOnCpu = leastOnCpu;
  await fused(() => Promise.resolve(near(run(), wanted, "fused")));
});

testOnDevices(
  "gradients of keys that heads share by views are whole, whatever lay in their memory",
  async () => {
    const q = tf.tensor(noise("float32", [1, 4, 1, 16], 1)),
      k = tf.tensor(noise("float32", [1, 2, 5, 16], 2)),
      v = tf.tensor(noise("float32", [1, 2, 5, 16], 3));
    const spread = (x: tf.Tensor): tf.Tensor =>
      tf.reshape(tf.broadcastTo(tf.expandDims(x, 2), [1, 2, 2, 5, 16]), [1, 4, 5, 16]);
    const loss = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor): tf.Tensor =>
      tf.sum(tf.sin(tf.matMul(
        tf.softmax(tf.matMul(q, spread(tf.concat([k], 2)), false, true)),
        spread(tf.concat([v], 2)),
      )));
    const wanted = tf.grads(loss)([q, k, v]);
    for (const x of wanted) await x.data();
    await fused(async () => {
      // Buffers of all sizes come back with other numbers in them.
      const dirt = [128, 256, 320, 640, 1024].map((n) => tf.mul(tf.fill([n], 1e3), 1.5));
      for (const x of dirt) await x.data();
      tf.dispose(dirt);
      near(tf.function((q: tf.Tensor) => tf.grads(loss)([q, k, v]))(q) as tf.Tensor[], wanted, "f");
    });
  },
);

testOnGpu("the gradient of attention never has all scores in memory", async () => {
  assert(await tf.setBackend("webgpu"));
  const heads = 4, length = 2048, depth = 8;
  const f = tf.function((x: tf.Tensor) =>
    tf.grad((x: tf.Tensor) =>
      tf.sum(tf.square(tf.scaledDotProductAttention(x, x, x, { scale: 1, softcap: 3 })))
    )(x)
  );
  const x = tf.randomNormal([1, length, heads, depth]);
  await x.data();
  const before = tf.memory();
  const { dispatches } = await tf.profile(async () => {
    await f(x).data();
  });
  const grown = tf.memory().poolBytes + tf.memory().numBytes - before.poolBytes - before.numBytes;
  const scores = 4 * heads * length * length;
  assert(grown < scores / 4, `${grown} bytes, one matrix of scores has ${scores}`);
  assert(dispatches <= 12, `${dispatches} dispatches`);
  await tf.setBackend("cpu");
});

testOnGpu("gradients of attention store scores of a middle size only", async () => {
  assert(await tf.setBackend("webgpu"));
  const { storedInGradients } = attentionOptions;
  const dispatches = async (length: number): Promise<number> => {
    using _scope = tf.scope();
    const f = tf.function((x: tf.Tensor) =>
      tf.grad((x: tf.Tensor) => tf.sum(tf.square(tf.scaledDotProductAttention(x, x, x))))(x)
    );
    const x = tf.randomNormal([1, length, 1, 4]);
    await f(x).data();
    return (await tf.profile(async () => void await f(x).data())).dispatches;
  };
  attentionOptions.storedInGradients = [8 * 8, 32 * 32];
  try {
    assert(await dispatches(8) < await dispatches(9));
    assert(await dispatches(31) > await dispatches(32));
  } finally {
    attentionOptions.storedInGradients = storedInGradients;
  }
  await tf.setBackend("cpu");
});

testOnDevices("gradients of more queries than are taken at once are those of all", async () => {
  // So many keys leave the CPU's blocks 32 queries each: one block is whole, the second has a rest.
  const keys = tf.getBackend() === "cpu" ? 8192 : 300;
  const shapes = [[2, 41, 1, 4], [2, keys, 1, 4], [2, keys, 1, 4]];
  const inputs = shapes.map((shape, i) => tf.mul(tf.tensor(noise("float32", shape, i)), 6));
  for (const options of [{}, { causal: true }]) {
    const gradients = (...x: tf.Tensor[]): tf.Tensor[] =>
      tf.grads((q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) =>
        tf.sum(tf.sin(tf.scaledDotProductAttention(q, k, v, options)))
      )(x) as tf.Tensor[];
    const wanted = gradients(...inputs);
    const found = await fused(() => Promise.resolve(tf.function(gradients)(...inputs)));
    found.forEach((x: tf.Tensor, i: number) => {
      const away = tf.max(tf.abs(tf.sub(x, wanted[i]))).item();
      const most = tf.max(tf.abs(wanted[i])).item();
      assert(away <= 1e-4 * most, `operand ${i}: ${away} away of ${most}`);
    });
  }
});
