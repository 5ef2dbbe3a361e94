/** Recurrent networks without lengths, which one op computes: they agree with plain loops and with step by step, gradients too. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, type OnnxModel } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { type AttributeValue, floats, model, node, tensor, value } from "./make_model.ts";

const INPUTS = 3;

function numbers(count: number, seed: number): Float32Array {
  return floats(...Array.from({ length: count }, (_, i) => Math.sin(seed + 1.7 * i)));
}

/** A kind of network. */
interface Kind {
  readonly op: string;
  readonly gates: number;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
}

interface Sizes {
  readonly units: number;
  readonly batch: number;
  readonly steps: number;
  readonly direction: "forward" | "reverse" | "bidirectional";
}

const KINDS: Readonly<Record<string, Kind>> = {
  LSTM: { op: "LSTM", gates: 4 },
  GRU: { op: "GRU", gates: 3 },
  "GRU, reset after the product": {
    op: "GRU",
    gates: 3,
    attributes: { linear_before_reset: 1n },
  },
  RNN: { op: "RNN", gates: 1 },
};

/** Blocks of units, a part of one and both; few rows and many. */
const SIZES: readonly Sizes[] = [
  { units: 1, batch: 1, steps: 1, direction: "forward" },
  { units: 5, batch: 2, steps: 3, direction: "reverse" },
  { units: 8, batch: 1, steps: 20, direction: "forward" },
  { units: 19, batch: 3, steps: 4, direction: "bidirectional" },
  { units: 6, batch: 7, steps: 3, direction: "bidirectional" },
];

/** Makes a model; `steps`: the cell is computed step by step. */
async function network(kind: Kind, { units, direction }: Sizes, steps = false): Promise<OnnxModel> {
  const rows = kind.gates * units, count = direction === "bidirectional" ? 2 : 1;
  const isLstm = kind.op === "LSTM", start = isLstm ? ["h", "c"] : ["h"];
  const state = (name: string) => value(name, "float32", [count, "n", units]);
  return await loadOnnx(model({
    nodes: [
      node(kind.op, ["x", "w", "r", "b", "", ...start], ["y", "last", ...isLstm ? ["cell"] : []], {
        hidden_size: BigInt(units),
        direction,
        ...kind.attributes,
        ...steps && { clip: 1e6 },
      }),
    ],
    inputs: [value("x", "float32", ["t", "n", INPUTS]), ...start.map(state)],
    outputs: [
      value("y", "float32", ["t", count, "n", units]),
      state("last"),
      ...isLstm ? [state("cell")] : [],
    ],
    initialisers: [
      tensor("w", [count, rows, INPUTS], numbers(count * rows * INPUTS, 1)),
      tensor("r", [count, rows, units], numbers(count * rows * units, 2)),
      tensor("b", [count, 2 * rows], numbers(2 * count * rows, 3)),
    ],
  }));
}

function feedsOf(
  { op }: Kind,
  { units, batch, steps, direction }: Sizes,
): Record<string, tf.Tensor> {
  const state = [direction === "bidirectional" ? 2 : 1, batch, units];
  const of = (shape: number[], seed: number) =>
    tf.tensor(numbers(shape.reduce((a, b) => a * b, 1), seed), shape);
  return {
    x: of([steps, batch, INPUTS], 5),
    h: of(state, 6),
    ...op === "LSTM" && { c: of(state, 7) },
  };
}

function isNear(a: tf.Tensor, b: tf.Tensor, what: string): void {
  assertEquals(a.shape, b.shape);
  const most = a.size === 0 ? 0 : tf.max(tf.abs(tf.sub(a, b))).dataSync()[0];
  assert(most < 2e-5, `${what} differ by ${most}`);
}

/** Number of nodes that compute all steps. */
function countOf({ graph }: OnnxModel): number {
  return graph.operations.filter(({ type }) => type === "_Recurrence").length;
}

testOnDevices("networks of one op agree with their steps, compiled and eager", async (device) => {
  for (const [name, kind] of Object.entries(KINDS)) {
    // A GPU's shaders take their time to compile.
    for (const sizes of device === "cpu" ? SIZES : SIZES.slice(3, 4)) {
      const [whole, steps] = [await network(kind, sizes), await network(kind, sizes, true)];
      const feeds = feedsOf(kind, sizes), wanted = steps.runEagerly(feeds);
      const text = `${name} ${JSON.stringify(sizes)}`;
      for (const found of [await whole.run(feeds), whole.call(feeds), whole.runEagerly(feeds)]) {
        for (const [key, y] of Object.entries(wanted)) {
          isNear(found[key] as tf.Tensor, y as tf.Tensor, `${key} of ${text}`);
        }
      }
      assertEquals(countOf(whole), sizes.direction === "bidirectional" ? 2 : 1);
      assertEquals(countOf(steps), 0);
      for (const m of [whole, steps]) m.dispose();
    }
  }
});

testOnDevices("networks of one op have the gradients of their steps", async (device) => {
  for (const [name, kind] of Object.entries(KINDS)) {
    if (device !== "cpu" && name !== "LSTM") continue;
    const sizes = SIZES[3], feeds = feedsOf(kind, sizes);
    const [found, wanted] = await Promise.all([false, true].map(async (steps) => {
      const m = await network(kind, sizes, steps);
      const loss = () => {
        const { y, last } = m.call(feeds) as Record<string, tf.Tensor>;
        return tf.add(tf.sum(tf.square(y)), tf.sum(last));
      };
      const eager = tf.variableGrads(loss).grads;
      const compiled = tf.function(() => {
        const { grads } = tf.variableGrads(loss);
        return Object.keys(m.variables).map((key) => grads[m.variables[key].name]);
      })() as tf.Tensor[];
      const variables = Object.values(m.variables);
      variables.forEach((v, i) => isNear(compiled[i], eager[v.name], `gradients of ${name}`));
      return compiled;
    }));
    found.forEach((g, i) => isNear(g, wanted[i], `gradients of ${name}`));
  }
});

testOnDevices("networks of one op follow assigned weights", async () => {
  const sizes = SIZES[2], m = await network(KINDS.LSTM, sizes), feeds = feedsOf(KINDS.LSTM, sizes);
  const run = async (): Promise<tf.Tensor> => (await m.run(feeds)).y as tf.Tensor;
  const [first, again] = [await run(), await run()];
  isNear(first, again, "runs");
  m.variables.r.assign(tf.zerosLike(m.variables.r));
  const zero = await run();
  assert(tf.max(tf.abs(tf.sub(zero, first))).dataSync()[0] > 1e-3);
  isNear(zero, m.runEagerly(feeds).y as tf.Tensor, "runs");
});
