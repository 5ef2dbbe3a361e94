// Times script ops: what a call of a host function costs inside graphs, functions and eagerly.
//
//   deno task bench script [--write]
//
// With WEFT_BENCH_PYTHON naming a Python that has TensorFlow, its times are measured in the same run. Otherwise
// those of TensorFlow 2.21 on a CPU with two cores, measured once on another machine, stand beside Weft's: they say
// what order of magnitude users are used to, nothing more. Targets are Weft's own.

import * as tf from "@weft/weft";
import { writeSection } from "../results.ts";
import type { Device } from "../row.ts";
import { ELEMENTS, EMBEDDINGS, GRADIENTS, PROGRAMS, SIMULATIONS } from "./programs.ts";

/** One line of the table; times in microseconds. */
export interface Row {
  readonly what: string;
  readonly tensorflow?: number;
  readonly target?: number;
  /** Sets the work up. */
  make(): { call(): unknown; free?(): unknown };
}

const numpy = (x: tf.Tensor): tf.Tensor => tf.numpyFunction((v: tf.NdArray) => v, [x], "float32");
const eager = (x: tf.Tensor): tf.Tensor => tf.pyFunction((v: tf.Tensor) => v, [x], "float32");

/** Session.run of a chain of scripts with scalar identity bodies. */
function chain(
  what: string,
  script: (x: tf.Tensor) => tf.Tensor,
  length: number,
  tensorflow: number,
  target?: number,
): Row {
  return {
    what: `Session.run, chain of ${length} ${what}`,
    tensorflow,
    ...(target === undefined ? {} : { target }),
    make() {
      const graph = new tf.Graph();
      const { x, y } = graph.asDefault(() => {
        const x = tf.placeholder("float32", [], "x");
        let y = x;
        for (let i = 0; i < length; i++) y = script(y);
        return { x, y };
      });
      const sess = new tf.Session({ graph });
      const feeds = new Map([[x, 1]]);
      return { call: () => sess.run(y, { feeds }), free: () => sess.close() };
    },
  };
}

/** An eager call on a scalar. */
function eagerly(
  what: string,
  script: (x: tf.Tensor) => tf.Tensor,
  tensorflow?: number,
  target?: number,
): Row {
  return {
    what: `eager ${what}`,
    ...(tensorflow === undefined ? {} : { tensorflow }),
    ...(target === undefined ? {} : { target }),
    make() {
      const x = tf.scalar(1);
      return { call: () => script(x).dispose(), free: () => x.dispose() };
    },
  };
}

/** A call of a traced function. */
function traced(what: string, script: (x: tf.Tensor) => tf.Tensor, tensorflow: number): Row {
  return {
    what: `tf.function with ${what}`,
    tensorflow,
    make() {
      const x = tf.scalar(1);
      const f = tf.function((x: tf.Tensor) => script(x));
      return { call: () => (f(x) as tf.Tensor).dispose(), free: () => x.dispose() };
    },
  };
}

/** A run whose body gets and returns many values; nothing is fetched. */
function identity(size: number, tensorflow: number, target?: number): Row {
  return {
    what: `numpyFunction, identity of ${size.toExponential(0)} float32`,
    tensorflow,
    ...(target === undefined ? {} : { target }),
    make() {
      const graph = new tf.Graph();
      const op = graph.asDefault(() => numpy(tf.constant(new Float32Array(size))).op);
      const sess = new tf.Session({ graph });
      return { call: () => sess.run(op as tf.Operation), free: () => sess.close() };
    },
  };
}

/** The body of a run that is fed and fetched: it returns its array, or writes it before, here or in another thread. */
type FedBody = "identity" | "in place" | "in a worker";

/** A run that is fed many values, and fetches those that a body returns. */
function fedAndFetched(
  size: number,
  kind: FedBody,
  { tensorflow, target }: Pick<Row, "tensorflow" | "target"> = {},
): Row {
  return {
    what: `feed, numpyFunction ${kind}, fetch, ${size.toExponential()} float32`,
    ...(tensorflow === undefined ? {} : { tensorflow }),
    ...(target === undefined ? {} : { target }),
    make() {
      const graph = new tf.Graph();
      const write = (v: tf.NdArray): tf.NdArray => {
        (v.data as Float32Array)[0]++;
        return v;
      };
      const body = kind === "identity" ? (v: tf.NdArray) => v : write;
      const worker = kind === "in a worker";
      const y = graph.asDefault(() =>
        tf.numpyFunction(body, [tf.placeholder("float32", [size], "x")], "float32", { worker })
      );
      const sess = new tf.Session({ graph });
      const feeds = { "x:0": new Float32Array(size) };
      return { call: () => sess.run(y, { feeds }), free: () => sess.close() };
    },
  };
}

/** A large array on its way from a kernel through a body to another kernel; `isFed`: from an array of the host. */
function between(size: number, isFed = false): Row {
  return {
    what: `${isFed ? "feed, " : ""}mul, numpyFunction, mul, ${size.toExponential(0)} float32`,
    make() {
      const graph = new tf.Graph();
      const y = graph.asDefault(() => {
        const x = tf.mul(tf.placeholder("float32", [size], "x"), 2);
        return tf.mul(
          tf.numpyFunction((v: tf.NdArray) => v, [x], tf.TensorSpec([size], "float32")),
          2,
        ).op;
      });
      const sess = new tf.Session({ graph });
      const x = tf.zeros([size]), feeds = { "x:0": isFed ? new Float32Array(size) : x };
      return {
        call: () => sess.run(y as tf.Operation, { feeds }),
        free: () => (x.dispose(), sess.close()),
      };
    },
  };
}

/** A loop in a graph, of rows of 16 values. */
function looped(what: string, build: (x: tf.Tensor) => tf.Tensor): Row {
  return {
    what,
    make() {
      const graph = new tf.Graph();
      const op = graph.asDefault(() => build(tf.placeholder("float32", [64, 16], "x")).op);
      const sess = new tf.Session({ graph });
      const x = tf.zeros([64, 16]), feeds = { "x:0": x };
      return {
        call: () => sess.run(op as tf.Operation, { feeds }),
        free: () => (x.dispose(), sess.close()),
      };
    },
  };
}

const tenTurns = (x: tf.Tensor, body: (x: tf.Tensor) => tf.Tensor): tf.Tensor =>
  tf.whileLoop((i) => tf.less(i, 10), (i, y) => [tf.add(i, 1), body(y)], [
    tf.scalar(0, "int32"),
    x,
  ])[1];
const sameShape = (x: tf.Tensor, vectorized = false): tf.Tensor =>
  tf.numpyFunction((v: tf.NdArray) => v, [x], tf.TensorSpec(x.shape, "float32"), {
    // An earlier state does not know the option.
    ...vectorized && { vectorized },
  });

const LOOPS: readonly Row[] = [
  looped("whileLoop, ten turns", (x) => tenTurns(x, (y) => tf.mul(y, 2))),
  looped(
    "whileLoop, ten turns with numpyFunction",
    (x) => tenTurns(x, (y) => sameShape(tf.mul(y, 2))),
  ),
  looped(
    "mapFn, 64 rows with numpyFunction",
    (x) => tf.mapFn((r) => tf.mul(sameShape(tf.exp(r)), 2), x),
  ),
  looped(
    "mapFn, 64 rows with one call of numpyFunction",
    (x) => tf.mapFn((r) => tf.mul(sameShape(tf.exp(r), true), 2), x),
  ),
  looped(
    "whileLoop, ten turns with checkNumerics",
    (x) => tenTurns(x, (y) => tf.debugging.checkNumerics(tf.mul(y, 2), "y")),
  ),
  looped(
    "whileLoop, ten turns with tap",
    (x) => tenTurns(x, (y) => tf.tap(tf.mul(y, 2), () => {})),
  ),
  looped("scan, 64 rows", (x) => tf.scan((a, r) => tf.add(a, r), x)),
  looped(
    "foldl, 64 rows with numpyFunction",
    (x) =>
      tf.foldl((a, r) => tf.add(a, sameShape(tf.mul(r, 2))), x, { initializer: tf.zeros([16]) }),
  ),
];

/** A script between two ops of the GPU: one readback, one upload. */
const BOUNDARY: Row = {
  what: "one boundary: mul, numpyFunction, add, 1024 values",
  target: 300,
  make() {
    const graph = new tf.Graph();
    const y = graph.asDefault(() => {
      const x = tf.mul(tf.placeholder("float32", [1024], "x"), 2);
      return tf.add(
        tf.numpyFunction((v: tf.NdArray) => v, [x], tf.TensorSpec([1024], "float32")),
        1,
      ).op;
    });
    const sess = new tf.Session({ graph });
    const feeds = { "x:0": new Float32Array(1024) };
    return { call: () => sess.run(y as tf.Operation, { feeds }), free: () => sess.close() };
  },
};

const CPU_ROWS: readonly Row[] = [
  chain("numpyFunction", numpy, 1, 204, 20),
  chain("numpyFunction", numpy, 10, 449, 60),
  chain("numpyFunction", numpy, 100, 2740, 400),
  chain("pyFunction", eager, 1, 214),
  chain("pyFunction", eager, 10, 508),
  chain("pyFunction", eager, 100, 3350),
  ...GRADIENTS,
  eagerly("numpyFunction", numpy, 20, 5),
  eagerly("pyFunction", eager, undefined, 15),
  traced("numpyFunction", numpy, 296),
  traced("pyFunction", eager, 318),
  traced("no script", (x) => tf.identity(x), 220),
  identity(1e5, 183),
  identity(1e6, 314, 500),
  identity(1e7, 21_000, 8000),
  between(1e6),
  between(1e7),
  between(1e6, true),
  between(1e7, true),
  // At most twice TensorFlow's: in alternate runs on one machine, 676 to 687 beside 608 to 733.
  fedAndFetched(1e6, "identity", { tensorflow: 608, target: 1216 }),
  fedAndFetched(1e6, "in place"),
  fedAndFetched(1e7, "in place"),
  // 6 MB each way.
  fedAndFetched(1.5e6, "in a worker", { target: 6000 }),
  ...ELEMENTS,
  ...LOOPS,
  ...EMBEDDINGS,
  ...PROGRAMS,
];

/** The rows of a device. Those of a GPU have no times of TensorFlow. */
export function rowsOf(device: Device): readonly Row[] {
  if (device === "cpu") return CPU_ROWS;
  return [
    BOUNDARY,
    chain("numpyFunction", numpy, 10, NaN),
    ...GRADIENTS,
    ...LOOPS,
    ...EMBEDDINGS,
    ...SIMULATIONS,
    between(1e6),
    between(2 ** 24),
  ].map(({ tensorflow: _, ...row }: Row) => row);
}

/** Least time of a call in microseconds, over rounds of about 20 ms: others on the machine only add to it. */
async function timeOf({ make }: Row): Promise<number> {
  const { call, free } = make();
  const run = async (calls: number): Promise<number> => {
    const started = performance.now();
    for (let i = 0; i < calls; i++) {
      const result = call();
      if (result instanceof Promise) await result;
    }
    return (performance.now() - started) * 1000 / calls;
  };
  let each = await run(3);
  // Twice, since the first estimate is of code that was not compiled yet.
  for (let i = 0; i < 2; i++) each = await run(Math.max(1, Math.ceil(20_000 / each)));
  const rounds: number[] = [];
  for (let i = 0; i < 9; i++) rounds.push(await run(Math.max(1, Math.ceil(20_000 / each))));
  await free?.();
  return Math.min(...rounds);
}

/** Times rows, prints them, and returns them as Markdown. */
async function table(title: string, rows: readonly Row[]): Promise<string> {
  const number = (n: number | undefined): string =>
    (n === undefined || Number.isNaN(n) ? "–" : n >= 100 ? n.toFixed(0) : n.toFixed(1)).padStart(
      10,
    );
  console.log(
    `${title.padEnd(52)}${"Weft µs".padStart(10)}${"TF 2.21".padStart(10)}${"target".padStart(10)}`,
  );
  const lines = ["| what | Weft µs | TensorFlow µs |", "| --- | ---: | ---: |"];
  for (const row of rows) {
    const time = await timeOf(row);
    lines.push(`| ${row.what} | ${number(time).trim()} | ${number(row.tensorflow).trim()} |`);
    const isLate = row.target !== undefined && time > row.target ? "  above target" : "";
    console.log(
      row.what.padEnd(52) + number(time) + number(row.tensorflow) + number(row.target) + isLate,
    );
  }
  console.log();
  return lines.join("\n");
}

/** TensorFlow's times by row, measured now, or null without a Python that has it. */
async function measureTensorFlow(): Promise<Record<string, number> | null> {
  const python = Deno.env.get("WEFT_BENCH_PYTHON");
  if (python === undefined) return null;
  const script = new URL("tensorflow.py", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(python, { args: [script] }).output();
  if (code === 0) return JSON.parse(new TextDecoder().decode(stdout));
  console.error(new TextDecoder().decode(stderr));
  throw new Error(`Cannot time TensorFlow: ${python} exited with ${code}`);
}

/** Runs the tables; with `--write` they go into bench/RESULTS.md. */
export async function main(args: readonly string[] = Deno.args): Promise<number> {
  const write = async (device: string, text: string): Promise<void> => {
    if (!args.includes("--write")) return;
    const [load] = Deno.loadavg(), cores = navigator.hardwareConcurrency;
    const intro = `${
      new Date().toISOString().slice(0, 10)
    }, microseconds a call, the least of nine rounds. Made by \`deno task bench script --write\` on ${cores} cores with a load of ${
      load.toFixed(1)
    }: ${load > cores ? "a loaded machine, which large arrays feel most" : "a quiet machine"}.`;
    await writeSection(new URL("../RESULTS.md", import.meta.url), {
      title: `Scripts, loops, embeddings and large arrays: ${device}`,
      text: `${intro}\n\n${text}`,
    });
  };
  await tf.setBackend("cpu");
  const measured = await measureTensorFlow();
  const isNow = measured === null ? "TensorFlow from elsewhere" : "TensorFlow in this run";
  const rows = CPU_ROWS.map((row) =>
    measured === null ? row : { ...row, tensorflow: measured[row.what] ?? NaN }
  );
  await write("CPU", await table(`CPU (${isNow})`, rows));
  if (await tf.setBackend("webgpu")) {
    const adapter = tf.listDevices().find((d) => d.type === "GPU")?.description;
    const text = await table(`WebGPU (${adapter})`, rowsOf("webgpu"));
    await write(`WebGPU, ${adapter}`, text);
  }
  return 0;
}

if (import.meta.main) Deno.exit(await main());
