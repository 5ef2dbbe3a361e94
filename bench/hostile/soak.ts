// Serves honest clients while hostile ones attack: the command `serve`, a `Server`, and the data service, all at once.
//
//   deno task bench soak hostile [--minutes 30] [--phase-seconds 20] [--only serve|server|data] [--attack TEXT]
//
// Three kinds of phases take turns: calm ones, hostile ones, in which clients.ts attacks all servers in all its ways, or in those whose names
// hold TEXT, and loaded ones, in which the hostile clients' process takes as much of the processor as in hostile ones and attacks none.
// Honest clients ask all the time, and each answer is compared. The hostile clients have a lower priority, as those of other machines take no
// time of these cores. At the end: how long the answers took in phases of each kind, at the 99th percentile of all and at the median of
// the rounds' percentiles, with as many answers of each kind in a round; the processor's time of the servers; and their memory, minute by minute.
// The median may be three times as long among hostile clients as beside the load, no honest answer may be wrong or missing, and memory must stay flat. What `serve` holds after a collection is told before the attacks and after them.

import * as tf from "@weft/weft";
import { DataServiceDispatcher, DataServiceWorker, Server } from "@weft/weft/distribute";
import { saveModel } from "@weft/weft/tf";
import type { Targets } from "./attack.ts";
import { attacksOn } from "./attacks.ts";
import { growthOf, isFlat, memoryOf, processorOf } from "./memory.ts";
import { isHostile, kindOfTime, type PhaseKind, phaseOf, type Phases, roundOf } from "./phases.ts";
import { Killable } from "../killable.ts";

/** Milliseconds between two requests of an honest client. */
const THINK_MS = 20;
/** Honest clients of each server. */
const CLIENTS = 2;
/** Times of the calm 99th percentile that hostile phases may take. */
export const MOST_TIMES = 3;
/** Milliseconds between two looks at the memory of a server. */
const SAMPLE_MS = 1000;
/** Milliseconds after which the last attacks are over. */
const WAKE_MS = 5000;

/** Milliseconds of hostile phases for an attack of each kind, in the mean: hostile clients that get less of the processor tell nothing. */
const MOST_BETWEEN_MS = 10_000;

/** Servers by what `only` names. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  serve: ["serve"],
  server: ["server"],
  data: ["dispatcher", "worker"],
};

export async function makeModels(folder: string): Promise<void> {
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
  readonly wrong: string[] = [];
  readonly #phases: Phases;
  /** By rounds, and by the kinds in each. */
  readonly #rounds = new Map<number, Record<PhaseKind, number[]>>();

  constructor(phases: Phases) {
    this.#phases = phases;
  }

  /** Adds an answer that took `ms`. */
  add(from: number, ms: number): void {
    const kind = kindOfTime(this.#phases, from, from + ms);
    if (kind === null) return;
    const round = Math.floor(phaseOf(this.#phases, from) / roundOf(this.#phases));
    const times = this.#rounds.get(round) ?? { calm: [], hostile: [], loaded: [] };
    this.#rounds.set(round, times);
    times[kind].push(ms);
  }

  of(kind: PhaseKind): number[] {
    return [...this.#rounds.values()].flatMap((times) => times[kind]);
  }

  /** The median of the 99th percentiles of the rounds that are whole, each of as many answers of every kind. */
  median(kind: PhaseKind): number {
    const whole = [...this.#rounds.values()].map((times) => ({
      times: times[kind],
      count: Math.min(...Object.values(times).map((list) => list.length)),
    })).filter(({ count }) => count > 0);
    return percentile(whole.map(({ times, count }) => percentile(spread(times, count), 0.99)), 0.5);
  }
}

/** So many of some values, from the first to the last. */
const spread = (values: readonly number[], count: number): number[] =>
  Array.from({ length: count }, (_, i) => values[Math.floor(i * values.length / count)]!);

export const percentile = (times: readonly number[], q: number): number => {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
};

function check(got: unknown, wanted: unknown): void {
  const [a, b] = [got, wanted].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`got ${a}, wanted ${b}`);
}

/** Honest requests, by the server that they go to. Each throws where the answer is not the right one. */
const HONEST: Readonly<Record<string, (port: number) => Record<string, () => Promise<void>>>> = {
  serve(port) {
    const serve = `http://127.0.0.1:${port}`;
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
    };
  },
  server(port) {
    const graph = new tf.Graph();
    const [x, y] = graph.asDefault(() => {
      const x = tf.placeholder("float32", [2]);
      return [x, tf.add(tf.mul(x, 2), 1)] as const;
    });
    const session = new tf.Session({ graph, target: `grpc://127.0.0.1:${port}` });
    let k = 0;
    return {
      async "Server: steps"() {
        const a = k++ % 100;
        const value = await session.run(y, { feeds: new Map([[x, Float32Array.of(a, 1)]]) });
        check([...(value as tf.NdArray).data as Float32Array], [2 * a + 1, 3]);
      },
    };
  },
  dispatcher: (port) => ({
    async "data service: epochs of 20 elements"() {
      const squares = tf.data.range(20).map((x) => tf.square(x)).distribute({
        service: `grpc://127.0.0.1:${port}`,
        processingMode: "distributed_epoch",
        heartbeatMs: 100,
      });
      const got = await Array.fromAsync(squares.asNumpyIterator(), (x) => Number(x.item()));
      check(got.sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i * i));
    },
  }),
};

/** A process with servers, and what it has needed. */
class Usage {
  readonly name: string;
  /** Means of its MiB, one for each minute. */
  readonly mib: number[] = [];
  most = 0;
  /** Milliseconds of the processor in calm phases, and in hostile ones. */
  readonly processor: [calm: number, hostile: number] = [0, 0];
  readonly #pid: number;
  #since: number;
  #now: number[] = [];

  constructor(name: string, pid: number) {
    this.name = name;
    this.#pid = pid;
    this.#since = processorOf(pid);
  }

  look(isHostile: boolean): void {
    const mib = memoryOf(this.#pid), processor = processorOf(this.#pid);
    this.#now.push(mib);
    this.most = Math.max(this.most, mib);
    this.processor[isHostile ? 1 : 0] += processor - this.#since;
    this.#since = processor;
  }

  /** Ends a minute. */
  next(): void {
    this.mib.push(this.#now.reduce((a, b) => a + b, 0) / this.#now.length);
    this.#now = [];
  }
}

/** Texts of the threads of `serve`: the MiB that they hold after a collection. */
async function heldBy(serve: Killable | undefined): Promise<readonly string[]> {
  if (serve === undefined) return [];
  const before = serve.said.length,
    told = (): string[] => serve.said.slice(before).match(/\w+ holds .* MiB/g) ?? [];
  serve.signal("SIGUSR2");
  while (told().length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  return told();
}

/** Options of {@linkcode hostile}. */
export interface HostileOptions {
  readonly minutes: number;
  readonly phaseMs: number;
  /** The servers that are there, one of `PARTS`; all where it is "". */
  readonly only: string;
  /** A part of the names of the attacks. */
  readonly attack: string;
}

/** Serves honest and hostile clients. Returns 1 where something is wrong. */
export async function hostile(
  { minutes, phaseMs, only, attack }: HostileOptions,
): Promise<number> {
  const wanted = only === "" ? Object.values(PARTS).flat() : PARTS[only];
  if (wanted === undefined) {
    throw new RangeError(`Cannot soak "${only}" only: wanted ${Object.keys(PARTS).join(", ")}`);
  }
  // Throws before anything is started.
  attacksOn(wanted, attack);
  await tf.setBackend("cpu");
  const folder = await Deno.makeTempDir({ prefix: "weft_soak_" }), file = import.meta.filename!;
  await makeModels(folder);
  const command = new URL("served.ts", import.meta.url).pathname;
  const models = ["mlp", "loop"].map((name) => `${folder}/${name}`);
  const start: Readonly<Record<string, () => Killable>> = {
    serve: () => Killable.program(command, ...models, "--port=0", "--device=cpu", "--timeout=2000"),
    server: () => Killable.program(file, "server", ""),
    dispatcher: () => Killable.program(file, "dispatcher", `${folder}/journal`),
    worker: () =>
      Killable.program(file, "worker", `grpc://127.0.0.1:${portOf(started.dispatcher!.said)}`),
  };
  const started: Record<string, Killable> = {};
  let attackers: Killable | null = null;
  try {
    // A worker wants the address of its dispatcher, which is before it.
    for (const name of wanted) await (started[name] = start[name]!()).ready();
    const targets = Object.fromEntries(
      Object.entries(started).map(([name, { said }]) => [name, portOf(said)]),
    ) as unknown as Targets;
    const phases = { start: Date.now() + 20_000, phaseMs, hasLoaded: true };
    const clients = new URL("clients.ts", import.meta.url).pathname;
    // A hostile client on another machine takes no time of the servers' cores. One that starves here attacks no server.
    const told = JSON.stringify([targets, phases.start, phaseMs, attack]);
    attackers = Killable.politeProgram(clients, told);
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
  const kinds = Object.entries(targets)
    .flatMap(([server, port]) => Object.entries(HONEST[server]?.(port) ?? {}))
    .map(([name, ask]) => ({ name, ask, times: new Times(phases) }));
  const held = [await heldBy(started.serve)];
  const usages = Object.entries(started).map(([name, { pid }]) => new Usage(name, pid));
  const end = phases.start + 60_000 * minutes;
  const client = async ({ ask, times }: typeof kinds[number]): Promise<void> => {
    while (Date.now() < end) {
      const from = Date.now(), began = performance.now();
      try {
        await ask();
        if (from > phases.start) times.add(from, performance.now() - began);
      } catch (error) {
        times.wrong.push(`${((from - phases.start) / 1000).toFixed(1)} s: ${error}`);
      }
      await new Promise((resolve) => setTimeout(resolve, THINK_MS));
    }
  };
  // A soak of few minutes has shorter ones, for the sake of the trend.
  const minuteMs = Math.min(60_000, 5000 * minutes);
  let next = phases.start + minuteMs;
  const timer = setInterval(() => {
    if (Date.now() < phases.start) return;
    for (const usage of usages) usage.look(isHostile(phases, Date.now() - SAMPLE_MS / 2));
    if (Date.now() < next) return;
    next += minuteMs;
    for (const usage of usages) usage.next();
    const asked = kinds.map(({ name, times: t }) =>
      `${name} ${
        t.of("calm").length + t.of("hostile").length + t.of("loaded").length
      }, ${t.wrong.length} wrong`
    );
    const needed = usages.map(({ name, mib }) => `${name} ${mib.at(-1)!.toFixed(0)} MiB`);
    const at = ((Date.now() - phases.start) / 60_000).toFixed(1);
    console.log(`${at} minutes: ${asked.join("; ")}; ${needed.join(", ")}`);
  }, SAMPLE_MS);
  await Promise.all(kinds.flatMap((kind) => Array.from({ length: CLIENTS }, () => client(kind))));
  clearInterval(timer);
  await attackers.kill();
  await new Promise((resolve) => setTimeout(resolve, WAKE_MS));
  held.push(await heldBy(started.serve));
  let bad = 0;
  const [share, counts] = attackers.said.trim().split("\n").slice(-2);
  console.log(`hostile: ${counts}; percents of a core: ${share}`);
  const numbers = Object.values(JSON.parse(counts!) as Record<string, number>);
  const wanted = numbers.length * 60_000 * minutes / roundOf(phases) / MOST_BETWEEN_MS;
  const attacks = numbers.reduce((a, b) => a + b, 0);
  if (attacks < wanted) {
    bad++;
    console.log(
      `${attacks} attacks are too few, wanted ${wanted.toFixed(0)}: the machine is too busy`,
    );
  }
  for (const { name, times } of kinds) {
    const { wrong } = times, among = times.median("hostile");
    const [toCalm, toLoaded] = (["calm", "loaded"] as const).map((k) =>
      among / times.median(k)
    ) as [
      number,
      number,
    ];
    const isRight = toLoaded <= MOST_TIMES && wrong.length === 0;
    if (!isRight) bad++;
    const told = (kind: PhaseKind): string => {
      const all = times.of(kind);
      const [p50, p99, most] = [0.5, 0.99, 1].map((q) => percentile(all, q).toFixed(1));
      return `${kind} p50 ${p50}, p99 ${p99}, median of rounds ${
        times.median(kind).toFixed(1)
      }, most ${most} ms of ${all.length}`;
    };
    console.log(
      `${name}: ${told("calm")}; ${told("loaded")}; ${told("hostile")}; median p99 ${
        toLoaded.toFixed(2)
      } times that beside the load, ${toCalm.toFixed(2)} times the calm one; ${wrong.length} wrong${
        isRight ? "" : " WRONG"
      }`,
    );
    for (const text of wrong.slice(0, 5)) console.log(`  ${text}`);
  }
  for (const { name, mib, most, processor } of usages) {
    const flat = isFlat(mib);
    if (!flat) bad++;
    const [calm, hostile] = processor.map((ms) => (ms / 1000).toFixed(1));
    console.log(
      `${name}: ${mib.map((x) => x.toFixed(0)).join(" ")} MiB, most ${most.toFixed(0)}, ${
        (100 * growthOf(mib).line).toFixed(0)
      } % more over the last two thirds, ${
        flat ? "flat" : "NOT flat"
      }; ${calm} s of the processor in calm and loaded phases, ${hostile} in hostile ones`,
    );
  }
  if (started.serve !== undefined) {
    console.log(
      `serve, after a collection: ${held.map((texts) => texts.join(", ")).join("; then ")}`,
    );
  }
  console.log(bad === 0 ? "honest clients were served" : `${bad} are wrong`);
  return bad === 0 ? 0 : 1;
}

if (import.meta.main) {
  await tf.setBackend("cpu");
  console.log(await ROLES[Deno.args[0]!]!(Deno.args[1]!));
}
