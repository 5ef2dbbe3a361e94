/** Gradients of attention of float16, written out: one op backwards in plans, computed in float32 and rounded once. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import { testOnDevices, testOnGpu } from "../devices.ts";
import { optimized } from "../graph/graph_text.ts";
import { noise } from "../ops/values.ts";
import { fuseAll } from "./fused.ts";

const [B, H, N, M, D] = [2, 3, 5, 7, 8];
const QKV = [[B, H, N, D], [B, H, M, D], [B, H, M, D]];

type Attend = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask: tf.Tensor) => tf.Tensor;

interface Case {
  readonly shapes?: readonly (readonly number[])[];
  /** Shape of the mask, which has no gradient. */
  readonly mask?: readonly number[];
  readonly attend: Attend;
  /** Ops of the plan: attentions, their gradients, products. Default 1, 1, 0. */
  readonly ops?: readonly [number, number, number];
  /** Part of the largest result that parts of float16 may lose. Default: what sums of float32 lose. */
  readonly share?: number;
}

const half = (x: tf.Tensor): tf.Tensor => tf.cast(x, "float16");
const wide = (x: tf.Tensor): tf.Tensor => tf.cast(x, "float32");
const scores = (q: tf.Tensor, k: tf.Tensor): tf.Tensor => tf.matMul(q, k, false, true);
const like = (x: tf.TensorLike, other: tf.Tensor): tf.Tensor => tf.cast(x, other.dtype as tf.DType);
/** True for keys that a query sees, counted from the ends. */
const seen = (n: number, m: number): boolean[][] =>
  Array.from({ length: n }, (_, i) => Array.from({ length: m }, (_, j) => j <= i + m - n));
const LATER = seen(N, M).map((row) => row.map((is) => is ? 0 : -65504));
const CAPTURED = half(tf.constant(noise("float32", [N, M], 21)));
const heads = (x: tf.Tensor): tf.Tensor => tf.transpose(x, [0, 2, 1, 3]);
/** A softmax in float32 of what is float16, and as exact as the rest of what is float64. */
const inFloat32 = (x: tf.Tensor): tf.Tensor =>
  like(tf.softmax(x.dtype === "float64" ? x : wide(x)), x);

const CASES: Readonly<Record<string, Case>> = {
  "no mask": { attend: (q, k, v) => tf.matMul(tf.softmax(scores(q, k)), v) },
  "a scale": { attend: (q, k, v) => tf.matMul(tf.softmax(tf.mul(scores(q, k), 0.25)), v) },
  "a divisor": { attend: (q, k, v) => tf.matMul(tf.softmax(tf.div(scores(q, k), 4)), v) },
  "queries times a number": {
    attend: (q, k, v) => tf.matMul(tf.softmax(scores(tf.mul(q, 0.5), k)), v),
  },
  "a softmax in float32": {
    attend: (q, k, v) => tf.matMul(inFloat32(tf.mul(scores(q, k), 0.25)), v),
  },
  "a causal constant that is added": {
    attend: (q, k, v) =>
      tf.matMul(tf.softmax(tf.add(tf.mul(scores(q, k), 0.25), like(LATER, q))), v),
  },
  "a causal constant that chooses": {
    attend: (q, k, v) =>
      tf.matMul(tf.softmax(tf.where(seen(N, M), scores(q, k), like(-65504, q))), v),
  },
  "a captured mask": {
    attend: (q, k, v) => tf.matMul(tf.softmax(tf.add(scores(q, k), like(CAPTURED, q))), v),
  },
  "a mask of every score": {
    mask: [B, H, N, M],
    attend: (q, k, v, mask) => tf.matMul(tf.softmax(tf.add(scores(q, k), like(mask, q))), v),
  },
  "a mask of rows and columns, and a softmax in float32": {
    mask: [N, M],
    attend: (q, k, v, mask) =>
      tf.matMul(inFloat32(tf.add(tf.mul(scores(q, k), 0.25), like(mask, q))), v),
  },
  "padding that is added": {
    mask: [B, 1, 1, M],
    attend: (q, k, v, mask) => {
      const low = like(tf.mul(tf.cast(tf.less(mask, 0), "float32"), -1e4), q);
      return tf.matMul(tf.softmax(tf.add(tf.mul(scores(q, k), 0.25), low)), v);
    },
  },
  "padding that chooses": {
    mask: [B, 1, 1, M],
    attend: (q, k, v, mask) =>
      tf.matMul(tf.softmax(tf.where(tf.less(mask, 0.3), scores(q, k), like(-1e4, q))), v),
  },
  "a bias of heads and a causal constant": {
    mask: [1, H, 1, M],
    attend: (q, k, v, mask) =>
      tf.matMul(
        tf.softmax(tf.where(seen(N, M), tf.add(scores(q, k), like(mask, q)), like(-65504, q))),
        v,
      ),
  },
  "weights that chance leaves out": {
    mask: [B, H, N, M],
    attend: (q, k, v, mask) => {
      const kept = tf.mul(like(tf.greater(mask, -0.5), q), 2);
      return tf.matMul(tf.mul(tf.softmax(scores(q, k)), kept), v);
    },
  },
  "transposed keys": {
    attend: (q, k, v) => tf.matMul(tf.softmax(tf.matMul(q, tf.transpose(k, [0, 1, 3, 2]))), v),
  },
  "heads that stand behind": {
    shapes: [[B, N, H, D], [B, M, H, D], [B, M, H, D]],
    attend: (q, k, v) => {
      const [x, y, z] = [q, k, v].map(heads);
      return heads(tf.matMul(tf.softmax(tf.mul(scores(x, y), 0.25)), z));
    },
  },
  "a step of its own": {
    shapes: [[B, N, H, D], [B, M, H, D], [B, M, H, D]],
    attend: (q, k, v) => tf.scaledDotProductAttention(q, k, v),
  },
  "a step of its own, causal and with a bias": {
    shapes: [[B, N, H, D], [B, M, H, D], [B, M, H, D]],
    mask: [1, H, N, M],
    attend: (q, k, v, bias) =>
      tf.scaledDotProductAttention(q, k, v, { causal: true, bias, scale: 0.5 }),
  },
  "heads in groups": {
    shapes: [[B, 2, 3, N, D], [B, 2, 1, M, D], [B, 2, 1, M, D]],
    attend: (q, k, v) => tf.matMul(tf.softmax(tf.mul(scores(q, k), 0.25)), v),
    // Gradients of the heads of a group are rounded before they are summed.
    share: 1e-3,
  },
  "a cap": {
    attend: (q, k, v) => tf.matMul(tf.softmax(tf.mul(tf.tanh(tf.div(scores(q, k), 2)), 2)), v),
  },
  "shares that are read, too": {
    attend: (q, k, v) => {
      const shares = tf.softmax(scores(q, k));
      return tf.add(tf.matMul(shares, v), tf.sum(shares));
    },
    ops: [0, 0, 6],
    share: 2e-2,
  },
};

/** Makes one op of attentions of any size, in plans that are verified. */
function always(): Disposable {
  const all = fuseAll(), { verify } = pipelineOptions;
  pipelineOptions.verify = true;
  return {
    [Symbol.dispose]: () => {
      all[Symbol.dispose]();
      pipelineOptions.verify = verify;
    },
  };
}

/** Returns attention and the gradients of a sum with fixed weights. */
function withGradients({ attend }: Case, factors: tf.Tensor) {
  return (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask: tf.Tensor): tf.Tensor[] => {
    const { value, grads } = tf.valueAndGrads((q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) =>
      tf.sum(tf.mul(attend(q, k, v, mask), like(factors, q)))
    )([q, k, v]);
    return [attend(q, k, v, mask), ...grads, value].slice(0, 4) as tf.Tensor[];
  };
}

function inputsOf({ shapes = QKV, mask = [1] }: Case): tf.Tensor[] {
  return [...shapes, mask].map((shape, i) => half(tf.tensor(noise("float32", [...shape], i + 1))));
}

/** Weights of the results, numbers of float16. */
function factorsOf({ shapes = QKV }: Case): tf.Tensor {
  return half(tf.tensor(noise("float32", [...shapes[0]], 7)));
}

/** Fails beyond a rounding to float16 and what sums of float32, or of float16, may lose. */
async function near(
  found: readonly tf.Tensor[],
  wanted: readonly Float64Array[],
  text: string,
  share = 4e-6,
): Promise<void> {
  for (const [i, x] of found.entries()) {
    assertEquals(x.dtype, "float16", text);
    const values = await x.data() as ArrayLike<number>, want = wanted[i];
    const largest = want.reduce((most, w) => Math.max(most, Math.abs(w)), 0);
    assertEquals(values.length, want.length);
    want.forEach((w, at) => {
      const limit = 2 ** -11 * Math.abs(w) + 2 ** -24 + share * Math.max(largest, 1);
      assert(
        Math.abs(values[at] - w) <= limit,
        `${text}: result ${i} at ${at}: ${values[at]}, ${w}`,
      );
    });
  }
}

/** Results in float64 of what the halves are. */
function exact(own: Case, inputs: readonly tf.Tensor[]): Float64Array[] {
  return tf.device("/CPU:0", () => {
    const [q, k, v, mask] = inputs.map((x) =>
      tf.tensor(Float64Array.from(x.dataSync() as Float32Array), x.shape)
    );
    const factors = tf.tensor(Float64Array.from(factorsOf(own).dataSync()), factorsOf(own).shape);
    return withGradients(own, factors)(q, k, v, mask).map((x) =>
      x.dataSync() as unknown as Float64Array
    );
  });
}

for (const [name, own] of Object.entries(CASES)) {
  const { shapes = QKV, mask = [1], ops = [1, 1, 0], share } = own;
  Deno.test(`attention of float16 with ${name} and its gradient are an op each`, () => {
    const build = (): tf.Tensor[] => {
      const [q, k, v, m] = [...shapes, mask].map((s, i) => tf.placeholder("float16", s, `x${i}`));
      return withGradients(own, factorsOf(own))(q, k, v, m);
    };
    for (const target of ["CPU", "GPU"] as const) {
      const lines = optimized(build, undefined, target);
      const count = (op: string): number => lines.filter((l) => l.includes(` = ${op}(`)).length;
      assertEquals(
        ["_FusedAttention", "_FusedAttentionGrad", "BatchMatMulV2"].map(count),
        [...ops],
        lines.join("\n"),
      );
    }
  });

  testOnDevices(
    `gradients of float16 attention with ${name} are those of float64, rounded, in every way`,
    async () => {
      using _scope = tf.scope();
      const inputs = inputsOf(own), factors = factorsOf(own), wanted = exact(own, inputs);
      const build = withGradients(own, factors), [q, k, v, m] = inputs;
      {
        using _always = always();
        await near(tf.function(build)(q, k, v, m) as tf.Tensor[], wanted, "compiled", share);
        const graph = new tf.Graph();
        const [feeds, fetches] = graph.asDefault(() => {
          const feeds = inputs.map((x, i) => tf.placeholder("float16", x.shape, `x${i}`));
          const [q, k, v, m] = feeds;
          return [feeds, build(q, k, v, m)];
        });
        await using session = new tf.Session({ graph });
        const arrays = await Promise.all(inputs.map((x) => x.data()));
        const found = await session.run(fetches, {
          feeds: new Map(feeds.map((x, i) => [x, new tf.NdArray("float16", x.shape, arrays[i])])),
        }) as tf.NdArray[];
        await near(found.map((x) => tf.tensor(x)), wanted, "session", share);
      }
      // Parts round each of their results.
      const loss = Math.max(share ?? 0, 4e-3);
      await near(build(q, k, v, m), wanted, "eager", loss);
      const inputSignature = inputs.map((x) =>
        new tf.TensorSpec(x.shape.map((d, i) => i === 0 ? null : d), "float16")
      );
      const unknown = tf.function(build, { inputSignature });
      await near(unknown(q, k, v, m) as tf.Tensor[], wanted, "of unknown extents", loss);
    },
  );
}

testOnGpu(
  "attention of float16 and its gradient take as many dispatches as casts let them",
  async () => {
    const tall = [[1, 2, 1024, D], [1, 2, 1024, D], [1, 2, 1024, D]];
    for (const name of ["a scale", "a step of its own", "a causal constant that chooses"]) {
      using _scope = tf.scope();
      const own = CASES[name], inputs = inputsOf(own);
      const f = tf.function(withGradients(own, factorsOf(own)));
      const [q, k, v, m] = inputs;
      for (const x of f(q, k, v, m) as tf.Tensor[]) await x.data();
      const { dispatches } = await tf.profile(() => tf.dispose(f(q, k, v, m) as tf.Tensor[]));
      // Attention takes one and its gradient three; four values are widened and four rounded, by two each where an adapter has no f16.
      const { f16 } = (gpuDevice() as WebGpuDevice).profile;
      assert(dispatches <= (f16 ? 12 : 21), `${name}: ${dispatches}`);
    }
    using _scope = tf.scope(), _all = always();
    const own = { ...CASES["a scale"], shapes: tall }, [q, k, v, m] = inputsOf(own);
    const f = tf.function(withGradients(own, factorsOf(own)));
    await q.data();
    const before = tf.memory();
    for (const x of f(q, k, v, m) as tf.Tensor[]) await x.data();
    const grown = tf.memory().poolBytes + tf.memory().numBytes - before.poolBytes - before.numBytes;
    const oneMatrix = 2 * 2 * 1024 * 1024;
    assert(grown < oneMatrix / 2, `${grown} bytes, one matrix of scores has ${oneMatrix}`);
  },
);
