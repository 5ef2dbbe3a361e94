// Serves honest clients while hostile ones attack: the command `serve`, a `Server`, and the data service, all at once.
//
//   deno task bench soak hostile [--minutes 30] [--phase-seconds 20]
//
// Every second phase is hostile: clients.ts attacks all servers in all its ways. Honest clients ask all the time, and each answer is
// compared. The hostile clients have a lower priority, as those of other machines take no time of these cores. At the end: how long the answers took in calm and in hostile phases, and the memory of the servers, minute by minute. The
// 99th percentile may be three times as long among hostile clients, no honest answer may be wrong or missing, and memory must stay flat.

import * as tf from "@weft/weft";
import { DataServiceDispatcher, DataServiceWorker, Server } from "@weft/weft/distribute";
import { saveModel } from "@weft/weft/tf";
import type { Targets } from "./attack.ts";
import { isCalm, type Phases } from "./phases.ts";
import { Killable } from "../killable.ts";

/** Milliseconds between two requests of an honest client. */
const THINK_MS = 20;
/** Honest clients of each server. */
const CLIENTS = 2;
const MOST_TIMES = 3;
/** Memory of the last quarter at most, in that of the second. */
const MOST_GROWTH = 1.1;

async function makeModels(folder: string): Promise<void> {
  const w = tf.variable(tf.tensor([[1, 2], [3, 4], [5, 6], [7, 8]]));
  const mlp = tf.function((x: tf.Tensor) => ({ y: tf.matMul(x, w) }), {
    inputSignature: [tf.TensorSpec([null, 4], "float32", "x")],
  });
  const loop = tf.function((n: tf.Tensor) => {
    const [i] = tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, tf.reshape(n, [])),
      (i: tf.Tensor) => [tf.add(i, 1)],
      [tf.constant(0)],
    ) as tf.Tensor[];
    return { y: i! };
  }, { inputSignature: [tf.TensorSpec([1], "int32", "n")] });
  await saveModel(`${folder}/mlp`, { signatures: { serving_default: mlp } });
  await saveModel(`${folder}/loop`, { signatures: { serving_default: loop } });
}

/** The processes that this program starts. */
const ROLES: Readonly<Record<string, (target: string) => Promise<string>>> = {
  async server() {
    const server = new Server({ cluster: { worker: ["127.0.0.1:0"] } });
    await server.start();
    return server.target;
  },
  async dispatcher(workDir) {
    const dispatcher = new DataServiceDispatcher({ workDir });
    await dispatcher.start();
    return dispatcher.target;
  },
  async worker(dispatcher) {
    const worker = new DataServiceWorker({ dispatcher, heartbeatMs: 200 });
    await worker.start();
    return worker.address;
  },
};

const portOf = (said: string): number => Number(/:(\d+)\s*$/m.exec(said)![1]);

/** The times of one kind of honest request. */
class Times {
  readonly calm: number[] = [];
  readonly hostile: number[] = [];
  readonly wrong: string[] = [];

  add(phases: Phases, from: number, to: number): void {
    (isCalm(phases, from, to) ? this.calm : this.hostile).push(to - from);
  }
}

const percentile = (times: readonly number[], q: number): number => {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
};

/** Honest requests. Each throws where the answer is not the right one. */
function honest(targets: Targets): Record<string, () => Promise<void>> {
  const serve = `http://127.0.0.1:${targets.serve}`;
  const graph = new tf.Graph();
  const [x, y] = graph.asDefault(() => {
    const x = tf.placeholder("float32", [2]);
    return [x, tf.add(tf.mul(x, 2), 1)] as const;
  });
  const session = new tf.Session({ graph, target: `grpc://127.0.0.1:${targets.server}` });
  const check = (got: unknown, wanted: unknown): void => {
    const [a, b] = [got, wanted].map((value) => JSON.stringify(value));
    if (a !== b) throw new Error(`got ${a}, wanted ${b}`);
  };
  let k = 0;
  return {
    async "serve: predictions"() {
      const a = k++ % 100, body = JSON.stringify({ instances: [[a, 1, 0, 0]] });
      const answer = await fetch(`${serve}/v1/models/mlp:predict`, { method: "POST", body });
      check(await answer.json(), { predictions: [[a + 3, 2 * a + 4]] });
    },
    async "serve: health"() {
      const answer = await fetch(`${serve}/v2/health/ready`);
      check(await answer.json(), { ready: true });
    },
    async "Server: steps"() {
      const a = k++ % 100;
      const value = await session.run(y, { feeds: new Map([[x, Float32Array.of(a, 1)]]) });
      check([...(value as tf.NdArray).data as Float32Array], [2 * a + 1, 3]);
    },
    async "data service: epochs of 20 elements"() {
      const squares = tf.data.range(20).map((x) => tf.square(x)).distribute({
        service: `grpc://127.0.0.1:${targets.dispatcher}`,
        processingMode: "distributed_epoch",
        heartbeatMs: 100,
      });
      const got = await Array.fromAsync(squares.asNumpyIterator(), (x) => Number(x.item()));
      check(got.sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i * i));
    },
  };
}

/** MiB of a process, that the system has given it. */
function memoryOf(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmRSS:\s*(\d+)/.exec(status)![1]) / 1024;
}

/** Says whether a process needs no more memory in the last quarter than in the second: what it needs at least counts. */
function isFlat(samples: readonly number[]): boolean {
  const quarter = Math.floor(samples.length / 4);
  const early = Math.min(...samples.slice(quarter, 2 * quarter));
  return Math.min(...samples.slice(3 * quarter)) <= MOST_GROWTH * early;
}

/** Options of {@linkcode hostile}. */
export interface HostileOptions {
  readonly minutes: number;
  readonly phaseMs: number;
}

/** Serves honest and hostile clients. Returns 1 where something is wrong. */
export async function hostile({ minutes, phaseMs }: HostileOptions): Promise<number> {
  await tf.setBackend("cpu");
  const folder = await Deno.makeTempDir({ prefix: "weft_soak_" }), file = import.meta.filename!;
  await makeModels(folder);
  const command = new URL("../../src/serve/mod.ts", import.meta.url).pathname;
  const models = ["mlp", "loop"].map((name) => `${folder}/${name}`);
  const started: Record<string, Killable> = {
    serve: Killable.program(command, ...models, "--port=0", "--device=cpu", "--timeout=2000"),
    server: Killable.program(file, "server", ""),
    dispatcher: Killable.program(file, "dispatcher", `${folder}/journal`),
  };
  let attackers: Killable | null = null;
  try {
    for (const process of Object.values(started)) await process.ready();
    const dispatcher = `grpc://127.0.0.1:${portOf(started.dispatcher!.said)}`;
    started.worker = Killable.program(file, "worker", dispatcher);
    await started.worker.ready();
    const targets = Object.fromEntries(
      Object.entries(started).map(([name, { said }]) => [name, portOf(said)]),
    ) as unknown as Targets;
    const phases = { start: Date.now() + 20_000, phaseMs };
    const clients = new URL("clients.ts", import.meta.url).pathname;
    // A hostile client on another machine takes no time of the servers' cores. One that starves here attacks no server.
    attackers = Killable.politeProgram(clients, JSON.stringify([targets, phases.start, phaseMs]));
    await attackers.ready();
    return await soak(targets, { started, attackers, phases, minutes });
  } finally {
    await Promise.all(
      [...Object.values(started), ...attackers ? [attackers] : []].map((p) => p.kill()),
    );
    await Deno.remove(folder, { recursive: true });
  }
}

async function soak(
  targets: Targets,
  { started, attackers, phases, minutes }: {
    readonly started: Readonly<Record<string, Killable>>;
    readonly attackers: Killable;
    readonly phases: Phases;
    readonly minutes: number;
  },
): Promise<number> {
  const kinds = Object.entries(honest(targets)).map(([name, ask]) => ({
    name,
    ask,
    times: new Times(),
  }));
  const memory = Object.keys(started).map((name) => ({ name, samples: [] as number[] }));
  const end = phases.start + 60_000 * minutes;
  const client = async ({ ask, times }: typeof kinds[number]): Promise<void> => {
    while (Date.now() < end) {
      const from = Date.now();
      try {
        await ask();
        if (from > phases.start) times.add(phases, from, Date.now());
      } catch (error) {
        times.wrong.push(`${((from - phases.start) / 1000).toFixed(1)} s: ${error}`);
      }
      await new Promise((resolve) => setTimeout(resolve, THINK_MS));
    }
  };
  const sampleMs = Math.min(60_000, 15_000 * minutes / 4);
  const timer = setInterval(() => {
    if (Date.now() < phases.start) return;
    for (const { name, samples } of memory) samples.push(memoryOf(started[name]!.pid));
    console.log(
      `${((Date.now() - phases.start) / 60_000).toFixed(1)} minutes: ${
        kinds.map(({ name, times: t }) =>
          `${name} ${t.calm.length + t.hostile.length}, ${t.wrong.length} wrong`
        ).join("; ")
      }; ${
        memory.map(({ name, samples }) => `${name} ${samples.at(-1)!.toFixed(0)} MiB`).join(", ")
      }`,
    );
  }, sampleMs);
  await Promise.all(kinds.flatMap((kind) => Array.from({ length: CLIENTS }, () => client(kind))));
  clearInterval(timer);
  let bad = 0;
  console.log(`hostile: ${attackers.said.trim().split("\n").at(-1)}`);
  for (const { name, times: { calm, hostile, wrong } } of kinds) {
    const [before, among] = [calm, hostile].map((times) => percentile(times, 0.99)) as [
      number,
      number,
    ];
    const ratio = among / before, isRight = ratio <= MOST_TIMES && wrong.length === 0;
    if (!isRight) bad++;
    const told = (times: readonly number[]): string =>
      `p50 ${percentile(times, 0.5)}, p99 ${percentile(times, 0.99)}, most ${
        percentile(times, 1)
      } ms of ${times.length}`;
    console.log(
      `${name}: calm ${told(calm)}; hostile ${told(hostile)}; p99 ${
        ratio.toFixed(2)
      } times; ${wrong.length} wrong${isRight ? "" : " WRONG"}`,
    );
    for (const text of wrong.slice(0, 5)) console.log(`  ${text}`);
  }
  for (const { name, samples } of memory) {
    const flat = isFlat(samples);
    if (!flat) bad++;
    console.log(
      `${name}: ${samples.map((mib) => mib.toFixed(0)).join(" ")} MiB, ${
        flat ? "flat" : "NOT flat"
      }`,
    );
  }
  console.log(bad === 0 ? "honest clients were served" : `${bad} are wrong`);
  return bad === 0 ? 0 : 1;
}

if (import.meta.main) {
  await tf.setBackend("cpu");
  console.log(await ROLES[Deno.args[0]!]!(Deno.args[1]!));
}
