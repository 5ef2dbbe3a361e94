/** Fused cells of TensorFlow's files in functions and sessions: their gradients are those of the gradient ops. */
import { assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import "@weft/weft/tf";
import { assertClose } from "./close.ts";
import { testOnDevices } from "../devices.ts";

type Values = Readonly<Record<string, tf.Tensor>>;

/** Adds a node with these inputs to the graph being built, and returns outputs of it. */
function node(
  op: string,
  inputs: Values,
  { attr = {}, outputs }: { attr?: Record<string, unknown>; outputs: number },
): tf.Tensor[] {
  const names = Object.keys(inputs);
  const def = {
    node: [
      ...names.map((name) => ({
        name,
        op: "Placeholder",
        attr: { dtype: { type: name === "seq_len_max" ? "DT_INT64" : "DT_FLOAT" } },
      })),
      { name: "y", op, input: names, attr },
    ],
  };
  return tf.importGraphDef(def as never, {
    inputMap: inputs,
    returnElements: Array.from({ length: outputs }, (_, i) => `y:${i}`),
  }) as tf.Tensor[];
}

const STEPS = 3, ROWS = 2, INPUTS = 3, UNITS = 2;
let seed = 0;
const noise = (...shape: number[]): tf.Tensor =>
  tf.randomNormal(shape, 0, 0.7, "float32", seed += 7);
const weights = (gates: number): Values => ({
  w: noise(INPUTS + UNITS, gates * UNITS),
  wci: noise(UNITS),
  wcf: noise(UNITS),
  wco: noise(UNITS),
  b: noise(gates * UNITS),
});
const OUTPUTS = ["i", "cs", "f", "o", "ci", "co", "h"];
const PEEPS = ["wci", "wcf", "wco"];

/** The gradients of a cell by the gradient op, and by ours of the cell. */
type Pairs = readonly (readonly [ofOp: tf.Tensor, ofCell: tf.Tensor])[];

function ofBlock(version: 1 | 2, attr: Record<string, unknown>, length: number): Pairs {
  const inputs: Values = {
    seq_len_max: tf.scalar(BigInt(length), "int64"),
    x: noise(STEPS, ROWS, INPUTS),
    cs_prev: noise(ROWS, UNITS),
    h_prev: noise(ROWS, UNITS),
    ...weights(4),
  };
  const dcs = noise(STEPS, ROWS, UNITS), dh = noise(STEPS, ROWS, UNITS);
  const made = node(version === 1 ? "BlockLSTM" : "BlockLSTMV2", inputs, { attr, outputs: 7 });
  const saved = Object.fromEntries(OUTPUTS.map((name, i) => [name, made[i]]));
  const grads = node(version === 1 ? "BlockLSTMGrad" : "BlockLSTMGradV2", {
    ...inputs,
    ...saved,
    cs_grad: dcs,
    h_grad: dh,
  }, { attr, outputs: 8 });
  const { seq_len_max: _, ...sources } = inputs;
  const own = tf.gradients([made[1], made[6]], Object.values(sources), { gradYs: [dcs, dh] });
  return Object.keys(sources).flatMap((_, k) =>
    own[k] === null ? [] : [[grads[k], own[k] as tf.Tensor] as const]
  );
}

function ofCell(attr: Record<string, unknown>): Pairs {
  const inputs: Values = {
    x: noise(ROWS, INPUTS),
    cs_prev: noise(ROWS, UNITS),
    h_prev: noise(ROWS, UNITS),
    ...weights(4),
  };
  const dcs = noise(ROWS, UNITS), dh = noise(ROWS, UNITS);
  const made = node("LSTMBlockCell", inputs, { attr, outputs: 7 });
  const saved = Object.fromEntries(OUTPUTS.slice(0, 6).map((name, i) => [name, made[i]]));
  const grads = node("LSTMBlockCellGrad", { ...inputs, ...saved, cs_grad: dcs, h_grad: dh }, {
    attr,
    outputs: 5,
  });
  const peeps = attr.use_peephole ? PEEPS : [];
  const sources = ["cs_prev", "b", ...peeps].map((name) => inputs[name]);
  const own = tf.gradients([made[1], made[6]], sources, { gradYs: [dcs, dh] }) as tf.Tensor[];
  const [before, gates, ...rest] = grads;
  return [before, tf.sum(gates, 0), ...rest].slice(0, own.length).map((g, k) => [g, own[k]]);
}

function ofGru(): Pairs {
  const inputs: Values = {
    x: noise(ROWS, INPUTS),
    h_prev: noise(ROWS, UNITS),
    w_ru: noise(INPUTS + UNITS, 2 * UNITS),
    w_c: noise(INPUTS + UNITS, UNITS),
    b_ru: noise(2 * UNITS),
    b_c: noise(UNITS),
  };
  const dh = noise(ROWS, UNITS);
  const [r, u, c, h] = node("GRUBlockCell", inputs, { outputs: 4 });
  const [dx, before, dc, gates] = node("GRUBlockCellGrad", { ...inputs, r, u, c, d_h: dh }, {
    outputs: 4,
  });
  const sources = ["x", "h_prev", "b_c", "b_ru"].map((name) => inputs[name]);
  const own = tf.gradients(h, sources, { gradYs: [dh] }) as tf.Tensor[];
  return [dx, before, tf.sum(dc, 0), tf.sum(gates, 0)].map((g, k) => [g, own[k]]);
}

const unclipped = { cell_clip: { f: -1 } }, peeping = { use_peephole: { b: true } };
const CASES: Readonly<Record<string, () => Pairs>> = {
  BlockLSTM: () => ofBlock(1, unclipped, STEPS),
  "BlockLSTM with weights of the state": () => ofBlock(1, { ...unclipped, ...peeping }, STEPS),
  "BlockLSTM of fewer steps": () => ofBlock(1, { ...unclipped, ...peeping }, 2),
  BlockLSTMV2: () => ofBlock(2, {}, STEPS),
  "BlockLSTMV2 of no steps": () => ofBlock(2, {}, 0),
  LSTMBlockCell: () => ofCell(unclipped),
  "LSTMBlockCell with weights of the state": () => ofCell({ ...unclipped, ...peeping }),
  GRUBlockCell: ofGru,
};

for (const [name, pairs] of Object.entries(CASES)) {
  testOnDevices(`the gradient of an imported ${name} is that of its gradient op`, async () => {
    const compare = (all: readonly (readonly [tf.NdArray, tf.NdArray])[]): void => {
      for (const [a, b] of all) {
        assertEquals(a.shape, b.shape, name);
        assertClose([...b.data] as number[], [...a.data] as number[], 1e-5, name);
      }
    };
    const graph = new tf.Graph();
    const fetches = graph.asDefault(pairs);
    const run = await new tf.Session({ graph }).run(fetches.flat() as tf.Tensor[]);
    const arrays = run as unknown as tf.NdArray[];
    compare(fetches.map((_, k) => [arrays[2 * k], arrays[2 * k + 1]]));
    const f = tf.function(() => pairs().flat() as tf.Tensor[]);
    const results = await Promise.all(f().map((t) => t.ndarray()));
    compare(fetches.map((_, k) => [results[2 * k], results[2 * k + 1]]));
  });
}

Deno.test("a block of steps refuses weights that do not fit", async () => {
  await tf.setBackend("cpu");
  const graph = new tf.Graph();
  await assertRejects(async () => {
    const [, h] = graph.asDefault(() =>
      node("GRUBlockCell", {
        x: noise(ROWS, INPUTS),
        h_prev: noise(ROWS, UNITS),
        w_ru: noise(INPUTS, 2 * UNITS),
        w_c: noise(INPUTS + UNITS, UNITS),
        b_ru: noise(2 * UNITS),
        b_c: noise(UNITS),
      }, { outputs: 4 })
    );
    await new tf.Session({ graph }).run(h);
  }, tf.ValueError);
});
