/** Models after all passes, as text, and the dispatches they take. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { HAS_WEBGPU } from "../devices.ts";
import { optimized } from "./graph_text.ts";

interface Model {
  readonly name: string;
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly build: (t: Readonly<Record<string, tf.Tensor>>) => tf.Tensor[];
  /** The graph after the passes, without placeholders and constants. */
  readonly text: string;
  readonly dispatches: number;
}

const MODELS: readonly Model[] = [
  {
    name: "MLP step",
    inputs: { x: [16, 12], w1: [12, 8], b1: [8], w2: [8, 3], b2: [3], y: [16, 3] },
    build: ({ x, w1, b1, w2, b2, y }) => {
      const logits = tf.add(tf.matMul(tf.relu(tf.add(tf.matMul(x, w1), b1)), w2), b2);
      const loss = tf.mean(tf.softmaxCrossEntropyWithLogits({ labels: y, logits }));
      const ws = [w1, b1, w2, b2];
      const steps = tf.gradients(loss, ws).map((g, i) => tf.sub(ws[i], tf.mul(0.1, g!)));
      return [loss, ...steps];
    },
    text: `
      %7 = MatMul(%1, %2, %3) with epilogue : float32[16,8]
      %8 = MatMul(%7, %4, %5) with epilogue : float32[16,3]
      %9 = SoftmaxCrossEntropyWithLogits(%8, %6) : float32[16], float32[16,3]
      %11 = Mul(%0, %9:1) : float32[16,3]
      %12 = MatMul(%11, %4, %7) with epilogue : float32[16,8]
      %13 = _GroupedColumnSum(%9, %11, %12) : float32[], float32[3], float32[8]
      %14 = MatMul(%1, %12, %2) with epilogue : float32[12,8]
      %15 = _FusedPointwise(%3, %13:2) : float32[8]
      %16 = MatMul(%7, %11, %4) with epilogue : float32[8,3]
      %17 = _FusedPointwise(%5, %13:1) : float32[3]
      return %13, %14, %15, %16, %17`,
    dispatches: 10,
  },
  {
    name: "convolution, bias and relu",
    inputs: { x: [1, 6, 6, 3], w: [3, 3, 3, 8], b: [8] },
    build: ({ x, w, b }) => [tf.relu(tf.add(tf.conv2d(x, w, 1, "same"), b))],
    text: `
      %3 = Conv2D(%0, %1, %2) with epilogue : float32[1,6,6,8]
      return %3`,
    dispatches: 1,
  },
  {
    name: "convolution, batch normalisation and relu",
    inputs: { x: [1, 6, 6, 3], w: [3, 3, 3, 8], scale: [8], offset: [8] },
    build: ({ x, w, scale, offset }) => {
      const [mean, variance] = [tf.fill([8], 0.5), tf.fill([8], 0.25)];
      const y = tf.conv2d(x, w, 1, "same");
      return [tf.relu(tf.batchNorm(y, mean, variance, offset, scale, 1e-3))];
    },
    text: `
      %6 = Conv2D(%2, %3, %0, %1, %5, %4) with epilogue : float32[1,6,6,8]
      return %6`,
    dispatches: 1,
  },
  {
    name: "softmax written out",
    inputs: { x: [6, 10] },
    build: ({ x }) => {
      const e = tf.exp(tf.sub(x, tf.max(x, -1, true)));
      return [tf.div(e, tf.sum(e, -1, true))];
    },
    text: `
      %1 = Softmax(%0) : float32[6,10]
      return %1`,
    dispatches: 1,
  },
  {
    name: "layer norm written out",
    inputs: { x: [6, 12], scale: [12], offset: [12] },
    build: ({ x, scale, offset }) => {
      const d = tf.sub(x, tf.mean(x, -1, true));
      const y = tf.mul(d, tf.rsqrt(tf.add(tf.mean(tf.square(d), -1, true), 1e-5)));
      return [tf.add(tf.mul(y, scale), offset)];
    },
    text: `
      %3 = _LayerNorm(%0, %1, %2) : float32[6,12]
      return %3`,
    dispatches: 1,
  },
  {
    name: "GELU written out",
    inputs: { x: [6, 12] },
    build: ({ x }) => {
      const cubic = tf.add(x, tf.mul(tf.mul(tf.square(x), x), 0.044715));
      return [tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(tf.mul(cubic, 0.7978845608)), 1))];
    },
    text: `
      %1 = _FusedPointwise(%0) : float32[6,12]
      return %1`,
    dispatches: 1,
  },
  {
    name: "attention written out",
    inputs: { q: [2, 8, 4], k: [2, 8, 4], v: [2, 8, 4] },
    build: ({ q, k, v }) => [tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), 0.5)), v)],
    text: `
      %3 = _FusedAttention(%0, %1, %2) : float32[2,8,4]
      return %3`,
    dispatches: 1,
  },
];

function fed({ inputs, build }: Model): tf.Tensor[] {
  const t = Object.entries(inputs).map(([name, shape]) => [
    name,
    tf.placeholder("float32", [...shape], name),
  ]);
  return build(Object.fromEntries(t));
}

for (const model of MODELS) {
  Deno.test(`passes leave of ${model.name} what it is known to need`, () => {
    const lines = optimized(() => fed(model)).filter((l) => !/= (Placeholder|Const)\(/.test(l));
    assertEquals(lines.join("\n"), model.text.trim().replaceAll(/\n +/g, "\n"));
  });

  Deno.test({
    name: `a run of ${model.name} takes ${model.dispatches} dispatches [webgpu]`,
    ignore: !HAS_WEBGPU,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await tf.setBackend("webgpu");
      const graph = new tf.Graph();
      const fetches = graph.asDefault(() => fed(model));
      await using session = new tf.Session({ graph });
      const feeds = new Map(
        Object.entries(model.inputs).map(([name, shape]): [string, tf.Tensor] => [
          `${name}:0`,
          tf.ones([...shape]),
        ]),
      );
      await session.run(fetches, { feeds });
      const metadata: Partial<tf.RunMetadata> = {};
      await session.run(fetches, { feeds, metadata });
      for (const t of feeds.values()) t.dispose();
      assertEquals(metadata.dispatches, model.dispatches);
    },
  });
}
