// Times a small step of a session on a server of ours and of TensorFlow's, from clients of both, in turns.
//
//   WEFT_TENSORFLOW_PYTHON=… deno task bench cluster [--rounds N] [--steps N] [--write]
//
// Servers and clients are processes of their own on this machine. Rows of TensorFlow need a Python that has it.

import { parseArgs } from "node:util";
import * as tf from "@weft/weft";
import { grpcTransport, remoteTarget, Server } from "@weft/weft/distribute";
import { PYTHON, Python } from "../tests/distribute/python.ts";
import { writeSection } from "./results.ts";

const PROGRAM = "tensorflow_cluster.py";
const SERVE = "--serve";

/** `y = 2 x + 1`, which every row runs. */
function program(): { graph: tf.Graph; x: tf.Tensor; y: tf.Tensor } {
  const graph = new tf.Graph();
  return graph.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    return { graph, x, y: tf.add(tf.mul(x, 2), 1) };
  });
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[times.length >> 1];
}

async function timed(steps: number, step: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < steps; i++) {
    const start = performance.now();
    await step();
    times.push(performance.now() - start);
  }
  return median(times);
}

/** A session of ours on a server, and its step. */
function sessionOn(target: string | tf.SessionTarget): [tf.Session, () => Promise<unknown>] {
  const { graph, x, y } = program(), session = new tf.Session({ graph, target });
  const feeds = new Map([[x, Float32Array.of(1, 1)]]);
  return [session, () => session.run(y, { feeds })];
}

/** Answers in a process of its own until it is killed. */
async function serve(): Promise<never> {
  await tf.setBackend("cpu");
  const server = new Server({ cluster: { worker: ["127.0.0.1:0"] } });
  await server.start();
  console.log(server.target);
  return await new Promise<never>(() => {});
}

async function startOurs(): Promise<[Deno.ChildProcess, string]> {
  const map = new URL("../tests/npm_only/import_map.json", import.meta.url).pathname;
  const main = new URL(import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--import-map", map, main, SERVE],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  reader.releaseLock();
  return [child, value.trim()];
}

/** A task of TensorFlow's in a process of its own. */
async function startTheirs(): Promise<{ python: Python; target: string }> {
  const free = await grpcTransport.listen(
    { host: "127.0.0.1", port: 0 },
    () => Promise.resolve([]),
  );
  await free.close();
  const python = new Python(PROGRAM, JSON.stringify({ worker: [free.address] }));
  return { python, target: (await python.read()).target };
}

/** Measures every pair in turns. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "9" },
      steps: { type: "string", default: "300" },
      write: { type: "boolean", default: false },
    },
  });
  await tf.setBackend("cpu");
  const rounds = Number(values.rounds), steps = Number(values.steps);
  const rows = new Map<string, { step: () => Promise<number>; times: number[] }>();
  const add = (name: string, step: () => Promise<number>) => rows.set(name, { step, times: [] });

  const closing: (() => unknown)[] = [];
  const addSession = (name: string, target: string | tf.SessionTarget) => {
    const [session, step] = sessionOn(target);
    add(name, () => timed(steps, step));
    closing.push(() => session.close());
  };
  addSession("session.run in this process", "");
  await using local = await Server.createLocal();
  const { target, transport } = local;
  addSession("our client, our server, in memory", remoteTarget(target, { transport }));

  const [child, ours] = await startOurs();
  addSession("our client, our server", ours);
  if (PYTHON !== undefined) {
    const { python: server, target } = await startTheirs(), client = new Python(PROGRAM);
    const ask = (to: string) => async () =>
      (await client.ask("seconds", to, String(steps))).value as number;
    addSession("our client, TensorFlow's server", target);
    add("TensorFlow's client, our server", ask(ours));
    add("TensorFlow's client and server", ask(target));
    closing.push(() => client.kill(), () => server.kill());
  }
  closing.push(() => child.kill("SIGKILL"));
  try {
    for (let round = 0; round < rounds; round++) {
      for (const { step, times } of rows.values()) times.push(await step());
    }
  } finally {
    for (const close of closing) await close();
  }
  const lines = [
    `A step of two kernels on two numbers, median of ${rounds} medians of ${steps}, in turns:`,
    "",
    "| who | ms a step |",
    "| --- | --- |",
    ...[...rows].map(([name, { times }]) => `| ${name} | ${median(times).toFixed(3)} |`),
  ];
  console.log(lines.join("\n"));
  if (values.write) {
    const title = "Steps of sessions on servers";
    await writeSection(new URL("RESULTS.md", import.meta.url), { title, text: lines.join("\n") });
  }
  return 0;
}

if (import.meta.main && Deno.args[0] === SERVE) await serve();
