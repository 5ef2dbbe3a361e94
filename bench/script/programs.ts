// Programs that people write with script ops, for bench/script/main.ts: augmentation, a tokeniser, look-ups, records, a simulator.
// tensorflow.py has the same ones.

import * as tf from "@weft/weft";
import { encodePng } from "@weft/weft/image";

/** A row of bench/script/main.ts, whose work goes through a whole program. */
export interface ProgramRow {
  /** Its name, the same in tensorflow.py. */
  readonly what: string;
  /** Sets the work up. */
  make(): { call(): unknown; free?(): unknown };
}

const IMAGES = 16, LINES = 1000, STEPS = 200, KEYS = 64, RECORDS = 1000, FILE_COUNT = 64;
const PIXELS = new Uint8Array(256 * 256 * 3).map((_, i) => i * 7 & 255);

/**
 * A turn, a zoom and a change of colours, from a number of the call's own; each pixel is interpolated. It is sent to workers, so all
 * is within.
 */
function augment(image: tf.NdArray, ctx: tf.ScriptContext): tf.NdArray {
  let state = Number(ctx.seed & 0x7fffffffn) || 1;
  const random = (): number => (state = state * 48271 % 0x7fffffff) / 0x7fffffff;
  const [height, width] = image.shape, from = image.data as Uint8Array, size = 224;
  const angle = random() - 0.5, zoom = 0.8 + 0.4 * random();
  const cos = zoom * Math.cos(angle), sin = zoom * Math.sin(angle);
  const gains = [0, 1, 2].map(() => (0.8 + 0.4 * random()) / 255), bias = 0.1 * random() - 0.05;
  const out = new Float32Array(3 * size * size);
  for (let y = 0, to = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const dy = y - size / 2, dx = x - size / 2;
      const v = Math.min(Math.max(height / 2 + cos * dy - sin * dx, 0), height - 1.001);
      const u = Math.min(Math.max(width / 2 + sin * dy + cos * dx, 0), width - 1.001);
      const top = Math.floor(v), left = Math.floor(u), below = v - top, right = u - left;
      const at = 3 * (top * width + left), next = at + 3 * width;
      for (let c = 0; c < 3; c++, to++) {
        const above = from[at + c] + right * (from[at + c + 3] - from[at + c]);
        const under = from[next + c] + right * (from[next + c + 3] - from[next + c]);
        out[to] = gains[c] * (above + below * (under - above)) + bias;
      }
    }
  }
  return ctx.array([size, size, 3], out);
}

const AUGMENTED = tf.TensorSpec([224, 224, 3], "float32");

async function drain(dataset: tf.data.Dataset<tf.Tensor | tf.RaggedTensor>): Promise<void> {
  for await (const _ of dataset.asNumpyIterator());
}

function augmentation(
  what: string,
  map: (images: tf.data.Dataset<tf.Tensor>) => tf.data.Dataset<tf.Tensor>,
): ProgramRow {
  return {
    what: `tf.data, augmentation of ${IMAGES} images${what}`,
    make() {
      const image = new tf.NdArray("uint8", [256, 256, 3], PIXELS);
      const dataset = map(tf.data.fromTensorSlices(tf.stack(Array(IMAGES).fill(image))));
      return { call: () => drain(dataset) };
    },
  };
}

const WORDS = "the a cat dog bird sees hears reads small large".split(" ");

function tokenizer(
  what: string,
  map: (lines: tf.data.Dataset<tf.Tensor>) => tf.data.Dataset<tf.Tensor | tf.RaggedTensor>,
): ProgramRow {
  return {
    what: `tf.data, tokeniser, ${LINES} lines ${what}`,
    make() {
      const lines = Array.from(
        { length: LINES },
        (_, i) => Array.from({ length: 8 }, (_, k) => WORDS[(i * 7 + k * 3) % 10]).join(" "),
      );
      const dataset = map(tf.data.fromTensorSlices(lines));
      return { call: () => drain(dataset) };
    },
  };
}

/** Is asked for keys, and takes 2 ms to answer. */
async function lookUp(key: tf.NdArray): Promise<tf.NdArray> {
  await new Promise((resolve) => setTimeout(resolve, 2));
  return key;
}

/** Keys that are looked up one beside another within a graph. */
const LOOK_UPS_IN_MAP: ProgramRow = {
  what: "mapFn, 8 look-ups of 2 ms, not in order",
  make() {
    const spec = tf.TensorSpec([], "int32"), options = { ordered: false };
    const run = tf.function((keys: tf.Tensor) =>
      tf.mapFn((key) => tf.numpyFunction(lookUp, [key], spec, options), keys)
    );
    const keys = tf.range(0, 8, 1, "int32");
    return {
      call: async () => tf.dispose(await run.async(keys)),
      free: () => keys.dispose(),
    };
  },
};

/** Files that are read, decoded and batched. */
const FILES: ProgramRow = {
  what: `tf.data, ${FILE_COUNT} PNG files read, decoded and batched`,
  make() {
    const folder = Deno.makeTempDirSync();
    const png = encodePng(new tf.NdArray("uint8", [64, 64, 3], PIXELS.slice(0, 64 * 64 * 3)));
    for (let i = 0; i < FILE_COUNT; i++) Deno.writeFileSync(`${folder}/${i}.png`, png);
    const dataset = tf.data.listFiles(`${folder}/*.png`, { shuffle: false })
      .map((file) => tf.ensureShape(tf.io.decodePng(tf.io.readFile(file)), [64, 64, 3]))
      .batch(16);
    return {
      call: () => drain(dataset),
      free: () => Deno.removeSync(folder, { recursive: true }),
    };
  },
};

/** Keys that are looked up where an answer takes 2 ms, 16 at once. */
const LOOK_UPS: ProgramRow = {
  what: `tf.data, ${KEYS} look-ups of 2 ms, 16 at once`,
  make() {
    const dataset = tf.data.range(KEYS).map(
      (key) => tf.numpyFunction(lookUp, [key], tf.TensorSpec([], "int32"), PURE),
      { numParallelCalls: 16 },
    );
    return { call: () => drain(dataset) };
  },
};

/** Records of a few features, as they are read from TFRecord files. */
const EXAMPLES: ProgramRow = {
  what: `tf.io.parseExample, ${RECORDS} records`,
  make() {
    const records = tf.tensor(
      Array.from({ length: RECORDS }, (_, i) =>
        tf.io.encodeExample({
          x: Float32Array.from({ length: 16 }, (_, k) => i + k),
          label: BigInt(i),
          ids: Array.from({ length: i % 20 + 1 }, (_, k) => BigInt(k * i)),
          name: `row${i}`,
        })),
      [RECORDS],
      "string",
    );
    const features = {
      x: tf.io.FixedLenFeature([16], "float32"),
      label: tf.io.FixedLenFeature([], "int64"),
      ids: tf.io.RaggedFeature("int64"),
      name: tf.io.FixedLenFeature([], "string"),
    };
    return {
      call() {
        const { x, label, ids, name } = tf.io.parseExample(records, features);
        for (const t of [x, label, ids, name]) t.dispose();
      },
      free: () => records.dispose(),
    };
  },
};

const VOCABULARY = new Map(WORDS.map((word, i) => [word, i + 2]));
const idsOf = (line: string): number[] => line.split(" ").map((word) => VOCABULARY.get(word) ?? 1);
const PURE = { stateful: false };
const idsOfLine = (line: tf.Tensor): tf.Tensor =>
  tf.numpyFunction(
    (x: tf.NdArray) => Int32Array.from(idsOf(x.text())),
    [line],
    tf.TensorSpec([null], "int32"),
    PURE,
  );

/** Gym's CartPole-v1; it begins anew where the pole has fallen. */
function cartPole(): (action: number) => number[] {
  const start = [0.01, 0.02, -0.03, 0.01];
  let state = start;
  return (action) => {
    const [x, v, a, w] = state, cos = Math.cos(a), sin = Math.sin(a);
    const push = ((action === 1 ? 10 : -10) + 0.05 * w * w * sin) / 1.1;
    const turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1));
    const slide = push - 0.05 * turn * cos / 1.1;
    state = [x + 0.02 * v, v + 0.02 * slide, a + 0.02 * w, w + 0.02 * turn];
    if (Math.abs(state[0]) > 2.4 || Math.abs(state[2]) > 0.2095) state = start;
    return state;
  };
}

/** Steps of a simulator in a loop, by a policy whose actions are drawn. */
function simulation(what: string, script: (action: tf.Tensor) => tf.Tensor): ProgramRow {
  return {
    what: `CartPole, ${STEPS} steps in whileLoop with ${what}`,
    make() {
      const first = tf.variable(tf.randomNormal([4, 32])), second = tf.variable(tf.zeros([32, 2]));
      const run = tf.function((state: tf.Tensor) =>
        tf.whileLoop((i) => tf.less(i, STEPS), (i, state) => {
          const hidden = tf.relu(tf.matMul(tf.reshape(state, [1, 4]), first));
          const action = tf.reshape(tf.random.categorical(tf.matMul(hidden, second), 1), []);
          return [tf.add(i, 1), script(action)];
        }, [tf.scalar(0, "int32"), state])[1]
      );
      const state = tf.tensor([0.01, 0.02, -0.03, 0.01]);
      return {
        call: () => (run(state) as tf.Tensor).dispose(),
        free: () => tf.dispose([first, second, state]),
      };
    },
  };
}

/** The gradient of a script in a graph. */
function gradient(what: string, square: (x: tf.Tensor) => tf.Tensor): ProgramRow {
  return {
    what: `Session.run, gradient of ${what}`,
    make() {
      const graph = new tf.Graph();
      const dx = graph.asDefault(() => {
        const x = tf.placeholder("float32", [], "x");
        return tf.gradients(square(x), [x])[0]!;
      });
      const sess = new tf.Session({ graph });
      return { call: () => sess.run(dx, { feeds: { "x:0": 3 } }), free: () => sess.close() };
    },
  };
}

/** Gradients of scripts, for either device. */
export const GRADIENTS: readonly ProgramRow[] = [
  gradient(
    "pyFunction",
    (x) => tf.pyFunction((x: tf.Tensor) => tf.square(x), [x], "float32"),
  ),
  gradient(
    "numpyFunction with vjp",
    (x) =>
      tf.numpyFunction((x: tf.NdArray) => Number(x) ** 2, [x], tf.TensorSpec([]), {
        vjp: ({ inputs: [x] }, dy) => tf.mul(tf.mul(dy, x), 2),
      }),
  ),
];

const STATE = tf.TensorSpec([4], "float32");

/** Simulators in loops, for either device. */
export const SIMULATIONS: readonly ProgramRow[] = [
  simulation("numpyFunction", (action) => {
    const step = cartPole();
    return tf.numpyFunction((a: tf.NdArray) => step(Number(a)), [action], STATE);
  }),
  simulation("pyFunction", (action) => {
    const step = cartPole();
    return tf.pyFunction((a: tf.Tensor) => tf.tensor(step(Number(a.item()))), [action], STATE);
  }),
];

/** A body that reads each of 1e4 elements, in one of the ways that an array has. */
function elements(how: string, sum: (v: tf.NdArray) => number): ProgramRow {
  return {
    what: `eager numpyFunction, sum of 1e4 elements by ${how}`,
    make() {
      const x = tf.zeros([1e4]);
      return {
        call: () => tf.numpyFunction(sum, [x], "float32").dispose(),
        free: () => x.dispose(),
      };
    },
  };
}

export const ELEMENTS: readonly ProgramRow[] = [
  elements("x.data", ({ data }) => {
    let s = 0;
    for (let i = 0; i < data.length; i++) s += data[i] as number;
    return s;
  }),
  elements("x.at(i)", (x) => {
    let s = 0;
    for (let i = 0; i < x.size; i++) s += x.at(i) as number;
    return s;
  }),
  elements("for of", (x) => {
    let s = 0;
    for (const v of x) s += v as number;
    return s;
  }),
  elements("x[i]", (x) => {
    let s = 0;
    for (let i = 0; i < x.length; i++) s += x[i] as number;
    return s;
  }),
];

/** A step of an optimizer of TensorFlow 1 on the rows of a table that a batch names, or that a branch picks. */
function embeddings(
  name: "GradientDescent" | "Adagrad",
  rows: number,
  isBranch = false,
): ProgramRow {
  const { train } = tf.compat.v1;
  return {
    what: `${name} on 32 rows of ${rows.toLocaleString("en-US")} × 64${
      isBranch ? ", in a branch" : ""
    }`,
    make() {
      const graph = new tf.Graph();
      const { init, fetches } = graph.asDefault(() => {
        const table = tf.variable(tf.fill([rows, 64], 0.5), true, "table");
        const at = tf.placeholder("int32", [32], "at");
        const picked = (): tf.Tensor => tf.sum(tf.square(tf.gather(table, at)));
        const isFirst = tf.less(tf.gather(at, 0), 1);
        const loss = isBranch ? tf.cond(isFirst, picked, () => tf.scalar(0)) : picked();
        const optimizer = name === "Adagrad"
          ? new train.AdagradOptimizer(0.1)
          : new train.GradientDescentOptimizer(0.1);
        const step = optimizer.minimize(loss);
        return { fetches: [loss, step], init: tf.compat.v1.globalVariablesInitializer() };
      });
      const sess = new tf.Session({ graph });
      const feeds = { "at:0": Int32Array.from({ length: 32 }, (_, i) => (i * 37) % 2000) };
      let isReady: Promise<unknown> | null = sess.run(init);
      const call = async (): Promise<void> => {
        if (isReady) await isReady;
        isReady = null;
        await sess.run(fetches, { feeds });
      };
      return { call, free: () => sess.close() };
    },
  };
}

export const EMBEDDINGS: readonly ProgramRow[] = [
  embeddings("GradientDescent", 2000),
  embeddings("GradientDescent", 200_000),
  embeddings("GradientDescent", 2000, true),
  embeddings("GradientDescent", 200_000, true),
  embeddings("Adagrad", 2000),
  embeddings("Adagrad", 200_000),
];

/** All programs, on the CPU. */
export const PROGRAMS: readonly ProgramRow[] = [
  augmentation("", (images) => images.map((x) => tf.numpyFunction(augment, [x], AUGMENTED))),
  augmentation(" at once", (images) => images.map(augment, { workers: true, Tout: AUGMENTED })),
  tokenizer("one by one", (lines) => lines.map(idsOfLine).paddedBatch(100)),
  tokenizer("in ragged batches", (lines) => lines.map(idsOfLine).raggedBatch(100)),
  tokenizer("in batches", (lines) =>
    lines.batch(100).map((batch) =>
      tf.numpyFunction(
        (x: tf.NdArray, ctx: tf.ScriptContext) => {
          const ids = x.strings().map(idsOf);
          return ctx.array([ids.length, ids[0].length], ids.flat());
        },
        [batch],
        tf.TensorSpec([null, null], "int32"),
        PURE,
      )
    )),
  LOOK_UPS,
  LOOK_UPS_IN_MAP,
  FILES,
  EXAMPLES,
  ...SIMULATIONS,
];
