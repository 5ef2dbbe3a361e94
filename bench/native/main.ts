// Times Fourier transforms, solvers, transformations, texts and training beside TensorFlow's, Keras's and JAX's on the CPU, in turns of two
// processes.
//
//   WEFT_BENCH_PYTHON=python deno task bench native [--only ID]... [--write]     (a Python that has TensorFlow, and JAX for attention)
//
// Both have one thread, and times are the processor's: other work on the machine adds little to them.

import process from "node:process";
import { parseArgs } from "node:util";
import { createWeftPeer, type WeftPeer } from "../peers/weft.ts";
import { writeSection } from "../results.ts";
import type { Case, Row } from "../row.ts";
import { SIGNAL_ROWS } from "../rows/signal.ts";
import { SOLVER_ROWS } from "../rows/solvers.ts";
import { limitThreads } from "../threads.ts";
import { ARCHIVE_ROWS } from "./archives.ts";
import { NATIVE_ROWS } from "./rows.ts";

/** Tables: what they say of themselves, and their rows. */
const TABLES: readonly {
  readonly title: string;
  readonly about: string;
  readonly rows: readonly Row[];
}[] = [
  {
    title: "Fourier transforms and solvers beside TensorFlow, CPU",
    about: "Weft solves in float64 and TensorFlow in float32; both transform in float32.",
    rows: [...SIGNAL_ROWS, ...SOLVER_ROWS],
  },
  {
    title: "Transformations, decompositions, texts and training beside TensorFlow, CPU",
    about:
      "Both are compiled (`tf.function`), but for texts, decompositions and fft3d; attention is JAX's, compiled by `jit`, and optimizers are Keras's. What they give is not compared here, but in tests. " +
      "Weft decomposes in float64 and TensorFlow in float32.",
    rows: NATIVE_ROWS,
  },
  {
    title: "Archives of Keras beside Keras, CPU",
    about:
      "The archive is `tests/tfjs_core/keras/fixtures/cnn.keras`, in tfjs-layers over Weft, and in Keras, by `load_model`, a compiled call and `train_on_batch`.",
    rows: ARCHIVE_ROWS,
  },
];
/** Turns of each row, and milliseconds of a round. */
const TURNS = 5, ROUND = 20;

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of a call, the least of three rounds. */
async function milliseconds({ call }: Case): Promise<number> {
  const run = async (calls: number): Promise<number> => {
    const started = processorMs();
    for (let i = 0; i < calls; i++) {
      const output = call();
      (output instanceof Promise ? await output : output).dispose();
    }
    return (processorMs() - started) / calls;
  };
  const each = await run(3), calls = Math.max(1, Math.round(ROUND / Math.max(each, 1e-3)));
  const times = [];
  for (let i = 0; i < 3; i++) times.push(await run(calls));
  return Math.min(...times);
}

/** A process of TensorFlow that answers with times of rows. */
class Native {
  readonly #child: Deno.ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;

  constructor(python: string) {
    const script = new URL("native.py", import.meta.url).pathname;
    const piped = { stdin: "piped", stdout: "piped", stderr: "null" } as const;
    this.#child = new Deno.Command(python, { args: [script], ...piped }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#lines = this.#read();
  }

  async *#read(): AsyncGenerator<string> {
    let rest = "";
    for await (const part of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop()!;
      yield* lines;
    }
  }

  async milliseconds(id: string): Promise<number> {
    await this.#writer.write(new TextEncoder().encode(`${id}\n`));
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`Cannot time TensorFlow: its process ended at ${id}`);
    return Number(value);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await this.#child.status;
  }
}

/** Lines of a table. */
async function linesOf(rows: readonly Row[], peer: WeftPeer, native: Native): Promise<string[]> {
  const lines = [
    "| id | what | Weft | TensorFlow | times TensorFlow's |",
    "| --- | --- | ---: | ---: | ---: |",
  ];
  for (const row of rows) {
    const own = await row.weft!(peer), times: [number, number][] = [];
    for (let i = 0; i < TURNS; i++) {
      times.push([await milliseconds(own), await native.milliseconds(row.id)]);
    }
    own.dispose?.();
    const [ours, theirs] = [0, 1].map((k) => Math.min(...times.map((t) => t[k]!)));
    const texts = [ours!, theirs!].map((t) => t.toPrecision(3));
    lines.push(
      `| ${row.id} | ${row.what} | ${texts.join(" | ")} | ${(ours! / theirs!).toFixed(2)} |`,
    );
    console.log(lines.at(-1));
  }
  return lines;
}

/** Runs the tables; with `--write` those that are whole go into bench/RESULTS.md. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", multiple: true, default: [] },
      write: { type: "boolean", default: false },
    },
  });
  const python = Deno.env.get("WEFT_BENCH_PYTHON");
  if (python === undefined) {
    console.error("Cannot time TensorFlow: WEFT_BENCH_PYTHON names no Python");
    return 2;
  }
  const cores = navigator.hardwareConcurrency;
  limitThreads(1);
  const peer = await createWeftPeer("cpu"), native = new Native(python);
  const isAsked = (row: Row) =>
    values.only.length === 0 || values.only.some((part) => row.id.includes(part));
  for (const { title, about, rows } of TABLES) {
    const asked = rows.filter(isAsked);
    if (asked.length === 0) continue;
    const lines = await linesOf(asked, peer, native);
    if (!values.write || asked.length < rows.length) continue;
    const load = Deno.loadavg()[0]!.toFixed(1), date = new Date().toISOString().slice(0, 10);
    const intro =
      `${date}, ${cores} cores under a load of ${load}. Milliseconds of the processor, one thread each, least of ${TURNS} turns of two processes. ${about} Made by ` +
      "`deno task bench native --write`.";
    await writeSection(new URL("../RESULTS.md", import.meta.url), {
      title,
      text: `${intro}\n\n${lines.join("\n")}`,
    });
  }
  await native.close();
  return 0;
}
