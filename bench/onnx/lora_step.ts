// A BERT of six layers as a file of ONNX, and the time of its forward pass and of a step of LoRA: it runs in Deno and in pages.

import * as tf from "@weft/weft";
import { loadOnnx, lora } from "@weft/weft/onnx";
import { bytes, encode, type Field, integer, message, text } from "../peers/protobuf.ts";

const LAYERS = 6, HEADS = 12, VOCABULARY = 3000, BATCH = 8, LENGTH = 64;

/** A graph that is written node by node. */
class Graph {
  readonly #nodes: Field[] = [];
  readonly #weights: Field[] = [];
  #seed = 1;

  node(
    op: string,
    inputs: readonly string[],
    output: string,
    attributes: readonly Field[] = [],
    domain = "",
  ): string {
    this.#nodes.push(message(1, [
      ...inputs.map((name) => text(1, name)),
      text(2, output),
      text(3, output),
      text(4, op),
      ...attributes,
      text(7, domain),
    ]));
    return output;
  }

  weight(name: string, shape: readonly number[], scale: number, around = 0): string {
    const size = shape.reduce((a, b) => a * b, 1), values = new Float32Array(size);
    for (let i = 0; i < size; i++) {
      this.#seed = Math.imul(this.#seed, 1664525) + 1013904223 | 0;
      values[i] = around + scale * (this.#seed / 2 ** 31);
    }
    return this.tensor(name, shape, 1, new Uint8Array(values.buffer));
  }

  ints(name: string, ...values: readonly number[]): string {
    const raw = BigInt64Array.from(values, BigInt);
    return this.tensor(name, [values.length], 7, new Uint8Array(raw.buffer));
  }

  tensor(name: string, shape: readonly number[], type: number, raw: Uint8Array): string {
    this.#weights.push(message(5, [
      ...shape.map((d) => integer(1, d)),
      integer(2, type),
      text(8, name),
      bytes(9, raw),
    ]));
    return name;
  }

  encode(input: string, output: string): Uint8Array {
    const value = (field: number, name: string, type: number, dims: readonly string[]): Field =>
      message(field, [
        text(1, name),
        message(2, [
          message(1, [integer(1, type), message(2, dims.map((d) => message(1, [text(2, d)])))]),
        ]),
      ]);
    return encode([
      integer(1, 10),
      message(7, [
        ...this.#nodes,
        text(2, "bert"),
        ...this.#weights,
        value(11, input, 7, ["batch", "sequence"]),
        value(12, output, 1, ["batch", "sequence", "width"]),
      ]),
      message(8, [text(1, ""), integer(2, 20)]),
      message(8, [text(1, "com.microsoft"), integer(2, 1)]),
    ]);
  }
}

const whole = (name: string, value: number): Field =>
  message(5, [text(1, name), integer(3, value), integer(20, 2)]);
const list = (name: string, values: readonly number[]): Field =>
  message(5, [text(1, name), ...values.map((v) => integer(8, v)), integer(20, 7)]);

/** The product of x and a weight, plain or of 4 bits in blocks of 32. */
function product(
  g: Graph,
  x: string,
  name: string,
  [rows, columns]: readonly [number, number],
  isPacked: boolean,
): string {
  const scale = 1.5 / Math.sqrt(rows);
  let y: string;
  if (isPacked) {
    const packed = Uint8Array.from(
      { length: rows * columns / 2 },
      (_, i) => Math.imul(i, 2654435761) >>> 24,
    );
    const levels = g.tensor(`${name}.levels`, [columns, rows / 32, 16], 2, packed);
    const scales = g.weight(`${name}.scales`, [columns * rows / 32], 0, scale / 8);
    y = g.node("MatMulNBits", [x, levels, scales], `${name}/product`, [
      whole("K", rows),
      whole("N", columns),
      whole("bits", 4),
      whole("block_size", 32),
    ], "com.microsoft");
  } else {y = g.node(
      "MatMul",
      [x, g.weight(`${name}.weight`, [rows, columns], scale)],
      `${name}/product`,
    );}
  return g.node("Add", [y, g.weight(`${name}.bias`, [columns], 0.02)], name);
}

/** The file of a BERT as exporters write it: attention and norms in the parts that they have in opset 20. */
function bert(hidden: number, isPacked: boolean): Uint8Array {
  const g = new Graph(), inner = 4 * hidden, depth = hidden / HEADS;
  const norm = (x: string, name: string): string =>
    g.node("LayerNormalization", [
      x,
      g.weight(`${name}.scale`, [hidden], 0.1, 1),
      g.weight(`${name}.bias`, [hidden], 0.1),
    ], name);
  const heads = g.ints("heads", 0, 0, HEADS, depth), joined = g.ints("joined", 0, 0, hidden);
  const words = g.node("Gather", [g.weight("words", [VOCABULARY, hidden], 1), "ids"], "embedded");
  let x = norm(
    g.node("Add", [words, g.weight("places", [LENGTH, hidden], 0.3)], "placed"),
    "embeddings",
  );
  for (let i = 0; i < LAYERS; i++) {
    const l = `layer${i}`;
    const split = (what: string, perm: readonly number[]): string =>
      g.node(
        "Transpose",
        [
          g.node(
            "Reshape",
            [product(g, x, `${l}.${what}`, [hidden, hidden], isPacked), heads],
            `${l}.${what}/heads`,
          ),
        ],
        `${l}.${what}/turned`,
        [list("perm", perm)],
      );
    const q = split("query", [0, 2, 1, 3]),
      k = split("key", [0, 2, 3, 1]),
      v = split("value", [0, 2, 1, 3]);
    const scores = g.node("Div", [
      g.node("MatMul", [q, k], `${l}/qk`),
      g.tensor(`${l}/root`, [], 1, new Uint8Array(Float32Array.of(Math.sqrt(depth)).buffer)),
    ], `${l}/scores`);
    const attended = g.node("MatMul", [
      g.node("Softmax", [scores], `${l}/shares`, [whole("axis", -1)]),
      v,
    ], `${l}/attended`);
    const flat = g.node("Reshape", [
      g.node("Transpose", [attended], `${l}/back`, [list("perm", [0, 2, 1, 3])]),
      joined,
    ], `${l}/joined`);
    const out = product(g, flat, `${l}.output`, [hidden, hidden], isPacked);
    const first = norm(g.node("Add", [out, x], `${l}/sum`), `${l}.norm1`);
    const wide = g.node(
      "Gelu",
      [product(g, first, `${l}.wide`, [hidden, inner], isPacked)],
      `${l}/gelu`,
    );
    const narrow = product(g, wide, `${l}.narrow`, [inner, hidden], isPacked);
    x = norm(g.node("Add", [narrow, first], `${l}/sum2`), `${l}.norm2`);
  }
  return g.encode("ids", x);
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1];

async function measure(
  name: string,
  file: Uint8Array,
  rank: number,
  rounds: number,
): Promise<string> {
  const model = await loadOnnx(file), [{ name: output }] = model.outputs;
  const ids = tf.tensor(
    BigInt64Array.from({ length: BATCH * LENGTH }, (_, i) => BigInt(i * 7919 % VOCABULARY)),
    [BATCH, LENGTH],
    "int64",
  );
  const call = (): tf.Tensor => model.call({ ids })[output] as tf.Tensor;
  // Traced before the adapters are there.
  const forward = tf.function(() => tf.mean(call()));
  forward().dispose();
  lora(model, { rank, seed: 1, targets: ["*query*", "*value*"] });
  const adapted = tf.function(() => tf.mean(call()));
  const optimizer = tf.train.adam(1e-4);
  const step = tf.function(() => optimizer.minimize(() => tf.mean(tf.square(call())), true));
  const run = async (f: () => unknown): Promise<number> => {
    const start = performance.now(), y = f() as tf.Tensor;
    await y.data();
    y.dispose();
    return performance.now() - start;
  };
  const ways = [forward, adapted, step], times: number[][] = ways.map(() => []);
  for (let round = -3; round < rounds; round++) {
    for (const [i, f] of ways.entries()) {
      const ms = await run(f);
      if (round >= 0) times[i].push(ms);
    }
  }
  const ratio = median(times[2].map((ms, i) => ms / times[1][i]));
  const ms = times.map((list) => median(list).toFixed(1));
  model.dispose();
  return `${name}: forward pass ${ms[0]} ms, with adapters ${ms[1]} ms, LoRA step ${ms[2]} ms, ${
    ratio.toFixed(2)
  } forward passes`;
}

/** Options of a measurement. */
export interface LoraOptions {
  readonly rounds: number;
  readonly hidden: number;
  readonly rank: number;
}

/** Times a step on a device, for weights of float32 and of 4 bits: a line for each. */
export async function timeLora(
  device: "cpu" | "webgpu",
  { rounds, hidden, rank }: LoraOptions,
): Promise<string[]> {
  await tf.setBackend(device);
  const lines: string[] = [];
  for (const isPacked of [false, true]) {
    const name = `${device}, BERT of ${LAYERS} layers of ${hidden}, ${
      isPacked ? "4 bits" : "float32"
    }`;
    lines.push(await measure(name, bert(hidden, isPacked), rank, rounds));
  }
  return lines;
}
