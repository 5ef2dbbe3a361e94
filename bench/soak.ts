// Runs the data service for a long time while its processes are killed, and says what was lost.
//
//   deno task bench soak faults [--runs 20] [--elements 100000] [--batch 20] [--workers 3] [--kill-ms 1000] [--tensorflow] [--log FOLDER]
//   deno task bench soak training [--minutes 30] [--workers 2] [--kill-ms 5000]
//   deno task bench soak parallel [--steps 400] [--rounds 1]
//   deno task bench soak hostile [--minutes 30] [--phase-seconds 20] [--only serve|server|data] [--attack TEXT]
//   deno task bench soak each [--phase-seconds 20] [--attack TEXT]
//
// `faults` reads an epoch whose elements each come from one worker, kills a worker with SIGKILL every --kill-ms and starts it anew: the
// epoch must end, and no element may come twice. With --log each run leaves a file of what was killed and read, and each worker one of
// what it computed, in milliseconds of the clock: rows that are nowhere were lost on the way from the dispatcher. `training` trains a
// network from such a service, whose workers and dispatcher are killed in turn: its memory must stay flat. The dispatcher is ours, with
// a journal; with --tensorflow it is TensorFlow's, of the Python that WEFT_TENSORFLOW_PYTHON names. `parallel` trains by several
// processes, see soak_parallel.ts; `hostile` attacks servers, see hostile/soak.ts, and `each` attacks `serve` in one way after the other, see
// hostile/each.ts. It takes long and is no part of continuous integration.

import { parseArgs } from "node:util";
import v8 from "node:v8";
import vm from "node:vm";
import * as tf from "@weft/weft";
import { DataServiceDispatcher, DataServiceWorker } from "@weft/weft/distribute";
import { freePort, Killable, killing } from "./killable.ts";
import { each } from "./hostile/each.ts";
import { hostile } from "./hostile/soak.ts";
import { parallel } from "./soak_parallel.ts";

const SCRIPT = "weft.soak.square@1";
/** Rows that a worker may hold when it dies: those that are ready, one being computed, one being sent, one split on its way. */
const HELD = 6;

const { values: options, positionals: [command = ""] } = parseArgs({
  args: Deno.args.filter((arg) => arg !== "soak"),
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "20" },
    elements: { type: "string", default: "100000" },
    batch: { type: "string", default: "20" },
    minutes: { type: "string", default: "30" },
    steps: { type: "string", default: "400" },
    rounds: { type: "string", default: "1" },
    "phase-seconds": { type: "string", default: "20" },
    only: { type: "string", default: "" },
    attack: { type: "string", default: "" },
    workers: { type: "string" },
    "kill-ms": { type: "string" },
    tensorflow: { type: "boolean", default: false },
    log: { type: "string", default: "" },
    // What the processes are told that this one starts.
    dispatcher: { type: "string", default: "" },
    port: { type: "string", default: "0" },
    "work-dir": { type: "string", default: "" },
  },
});

/** Writes a line of the log, where there is one. */
function log(file: string, ...words: readonly unknown[]): void {
  if (options.log === "") return;
  const line = `${Date.now()} ${words.join(" ")}\n`;
  Deno.writeTextFileSync(`${options.log}/${file}.log`, line, { append: true });
}

/** A process of this program. */
const role = (...args: string[]): Killable => Killable.program(import.meta.filename!, ...args);

/** A dispatcher and workers in processes of their own. */
class Service implements AsyncDisposable {
  readonly target: string;
  readonly dispatcher: Killable;
  readonly workers: Killable[];
  readonly #folder: string;

  constructor(count: number) {
    const port = freePort();
    this.target = `grpc://127.0.0.1:${port}`;
    this.#folder = Deno.makeTempDirSync({ prefix: "weft_soak_" });
    this.dispatcher = options.tensorflow
      ? new Killable(Deno.env.get("WEFT_TENSORFLOW_PYTHON")!, [
        "-c",
        PYTHON_DISPATCHER,
        port,
        this.#folder,
      ])
      : role("dispatcher", `--port=${port}`, `--work-dir=${this.#folder}`);
    this.workers = Array.from(
      { length: count },
      () =>
        role(
          "worker",
          `--dispatcher=${this.target}`,
          `--port=${freePort()}`,
          `--log=${options.log}`,
        ),
    );
  }

  async ready(): Promise<void> {
    await Promise.all([this.dispatcher, ...this.workers].map((p) => p.ready()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.dispatcher, ...this.workers].map((p) => p.kill()));
    await Deno.remove(this.#folder, { recursive: true });
  }
}

const PYTHON_DISPATCHER = `
import sys, tensorflow as tf
service = tf.data.experimental.service
dispatcher = service.DispatchServer(service.DispatcherConfig(
    port=int(sys.argv[1]), protocol="grpc", work_dir=sys.argv[2], fault_tolerant_mode=True,
    worker_timeout_ms=10000))
print("ready", flush=True)
dispatcher.join()
`;

const square = tf.registerScript(SCRIPT, (x: tf.NdArray) => {
  log(`worker_${options.port}`, "computed", x.data[0]);
  return x.map((v) => (v as bigint) ** 2n);
});

async function worker(): Promise<void> {
  const { dispatcher, port } = options;
  // The dispatcher may be starting too.
  for (;;) {
    const worker = new DataServiceWorker({ dispatcher, port: Number(port), heartbeatMs: 200 });
    try {
      await worker.start();
      break;
    } catch (error) {
      if (!(error instanceof tf.errors.UnavailableError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  console.log("ready");
}

async function dispatcher(): Promise<void> {
  const dispatcher = new DataServiceDispatcher({
    port: Number(options.port),
    workDir: options["work-dir"],
    workerTimeoutMs: 10_000,
  });
  await dispatcher.start();
  console.log("ready");
}

async function faults(): Promise<number> {
  const runs = Number(options.runs), elements = Number(options.elements);
  const batch = Number(options.batch);
  const numbers = tf.tensor(Array.from({ length: batch }, (_, i) => BigInt(i)), [batch], "int64");
  let wrong = 0;
  for (let run = 1; run <= runs; run++) {
    await using service = new Service(Number(options.workers ?? 3));
    await service.ready();
    log("run", "run", run, service.target);
    const started = performance.now(), seen = new Uint8Array(elements);
    const stop = killing(service.workers, {
      everyMs: Number(options["kill-ms"] ?? 1000),
      log: (...what) => log("run", ...what),
    });
    // Numbers travel in rows: a row is what a worker is given, and what is lost with it.
    const squares = tf.data.range(elements / batch, { dtype: "int64" })
      .map((i) => tf.add(tf.mul(i, tf.tensor([BigInt(batch)], [1], "int64")), numbers))
      .map((x) => [x, tf.numpyFunction(square, [x], tf.TensorSpec([batch], "int64"))])
      .distribute({
        service: service.target,
        processingMode: "distributed_epoch",
        workerTimeoutMs: 30_000,
        heartbeatMs: 200,
      })
      .unbatch();
    let twice = 0, bad = 0;
    for await (const [x, y] of squares.asNumpyIterator()) {
      const i = Number(x!.item());
      if (BigInt(i) ** 2n !== y!.item()) bad++;
      if (seen[i]!++ > 0) twice++;
      if (i % batch === 0) log("run", "read", i);
    }
    const kills = await stop(), lost = seen.filter((n) => n === 0).length;
    const isRight = twice === 0 && bad === 0 && lost <= HELD * batch * kills;
    if (!isRight) wrong++;
    log("run", "lost", ...[...seen].flatMap((n, i) => n === 0 && i % batch === 0 ? [i] : []));
    console.log(
      `run ${run}: ${
        elements - lost
      } of ${elements} elements, ${lost} lost at ${kills} kills, ${twice} twice, ${bad} wrong, ${
        ((performance.now() - started) / 1000).toFixed(1)
      } s${isRight ? "" : " WRONG"}`,
    );
  }
  console.log(wrong === 0 ? `${runs} runs are right` : `${wrong} of ${runs} runs are wrong`);
  return wrong === 0 ? 0 : 1;
}

const FEATURES = 784, CLASSES = 10, BATCH = 64;

/** An image whose brightest stripe says its class. */
const image = tf.registerScript("weft.soak.image@1", (i: tf.NdArray) => {
  const label = Number(i.item()) % CLASSES;
  const pixels = Float32Array.from(
    { length: FEATURES },
    (_, k) => (Math.floor(k / 79) === label ? 1 : 0) + 0.3 * Math.sin(k * (1 + Number(i.item()))),
  );
  return new tf.NdArray("float32", [FEATURES], pixels);
});

/** Memory of the process after a garbage collection. */
interface Sample {
  /** Of the system. */
  readonly mib: number;
  /** Held by values that are still reachable. */
  readonly heldMib: number;
  readonly tensors: number;
  readonly loss: number;
}

async function training(): Promise<number> {
  await tf.setBackend("cpu");
  v8.setFlagsFromString("--expose-gc");
  const collect = vm.runInNewContext("gc") as () => void;
  await using service = new Service(Number(options.workers ?? 2));
  await service.ready();
  const batches = tf.data.range(20_000, { dtype: "int64" })
    .map((i) => ({
      x: tf.numpyFunction(image, [i], tf.TensorSpec([FEATURES], "float32")),
      y: tf.cast(tf.mod(i, CLASSES), "int32"),
    }))
    .batch(BATCH, { dropRemainder: true })
    .distribute({
      service: service.target,
      processingMode: "distributed_epoch",
      workerTimeoutMs: 30_000,
      heartbeatMs: 200,
    });
  const w1 = tf.variable(tf.randomNormal([FEATURES, 64], 0, 0.05, "float32", 1));
  const w2 = tf.variable(tf.randomNormal([64, CLASSES], 0, 0.1, "float32", 2));
  const optimizer = tf.train.adam(0.001);
  const step = tf.function((x: tf.Tensor, y: tf.Tensor) =>
    optimizer.minimize(() => {
      const logits = tf.matMul(tf.relu(tf.matMul(x, w1)), w2);
      return tf.mean(tf.neg(tf.sum(tf.mul(tf.oneHot(y, CLASSES), tf.logSoftmax(logits)), -1)));
    }, true)
  );
  const stop = killing(
    [...service.workers, service.dispatcher],
    { everyMs: Number(options["kill-ms"] ?? 5000) },
  );
  const end = performance.now() + 60_000 * Number(options.minutes), samples: Sample[] = [];
  let steps = 0, epochs = 0, shown = 0;
  while (performance.now() < end) {
    for await (using batch of batches) {
      using loss = step(batch.x, batch.y) as tf.Tensor;
      steps++;
      if (performance.now() > end) break;
      if (performance.now() < shown) continue;
      shown = performance.now() + 15_000;
      collect();
      const { rss, heapUsed, external } = Deno.memoryUsage();
      samples.push({
        mib: rss / 2 ** 20,
        heldMib: (heapUsed + external) / 2 ** 20,
        tensors: tf.memory().numTensors,
        loss: loss.item() as number,
      });
      const { mib, heldMib, tensors, loss: l } = samples.at(-1)!;
      console.log(
        `${epochs} epochs, ${steps} steps, loss ${l.toFixed(4)}, ${mib.toFixed(0)} MiB, ${
          heldMib.toFixed(1)
        } of them held, ${tensors} tensors`,
      );
    }
    epochs++;
  }
  const kills = await stop();
  const quarter = Math.floor(samples.length / 4);
  const most = (from: readonly Sample[], key: keyof Sample) => Math.max(...from.map((s) => s[key]));
  // Allocators give memory back when they choose: what a quarter needs at least is what counts of the system's.
  const least = (from: readonly Sample[]) => Math.min(...from.map((s) => s.mib));
  const early = samples.slice(quarter, 2 * quarter), late = samples.slice(3 * quarter);
  const isFlat = most(late, "tensors") <= most(early, "tensors") &&
    most(late, "heldMib") <= 1.1 * most(early, "heldMib") && least(late) <= 1.1 * least(early);
  const told = (from: readonly Sample[]): string =>
    `${most(from, "heldMib").toFixed(1)} MiB held at most, ${least(from).toFixed(0)} to ${
      most(from, "mib").toFixed(0)
    } MiB of the system's, ${most(from, "tensors")} tensors`;
  const first = samples[0]!.loss, last = samples.at(-1)!.loss;
  console.log(
    `${steps} steps of ${epochs} epochs at ${kills} kills; second quarter: ${told(early)}; last: ${
      told(late)
    }; ${isFlat ? "flat" : "NOT flat"}; loss ${first.toFixed(3)} to ${last.toFixed(3)}`,
  );
  return isFlat && last < first ? 0 : 1;
}

const COMMANDS: Readonly<Record<string, () => Promise<number | void>>> = {
  faults,
  training,
  parallel: () => parallel({ steps: Number(options.steps), rounds: Number(options.rounds) }),
  hostile: () =>
    hostile({
      minutes: Number(options.minutes),
      phaseMs: 1000 * Number(options["phase-seconds"]),
      only: options.only,
      attack: options.attack,
    }),
  each: () => each({ phaseMs: 1000 * Number(options["phase-seconds"]), attack: options.attack }),
  worker,
  dispatcher,
};

/** Runs what the arguments say. */
export async function main(): Promise<number> {
  const run = COMMANDS[command];
  if (run === undefined) {
    console.error("Cannot soak: wanted faults, training, parallel, hostile or each");
    return 2;
  }
  return await run() ?? 0;
}

// The processes that are killed are this program.
if (import.meta.main) {
  const code = await main();
  if (command !== "worker" && command !== "dispatcher") Deno.exit(code);
}
