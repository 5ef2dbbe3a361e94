// Holds a server of models at its limit and prints how many requests it answered and how long they took.
//
//   deno task bench serve [--seconds N] [--clients N] [--write]
//
// The server is the command in a process of its own, with a network 784-128-10 of one row a request; clients of this process
// each send the next request when the last is answered. Every answer is compared with a local call.

import { parseArgs } from "node:util";
import * as tf from "@weft/weft";
import { saveModel } from "@weft/weft/tf";
import { normals } from "./random.ts";
import { writeSection } from "./results.ts";

const SIZES = [784, 128, 10] as const;

/** A network in a folder, a request for it, and what it should answer. */
async function makeModel(folder: string): Promise<{ body: string; expected: number[] }> {
  const [i, h, o] = SIZES;
  const w1 = tf.variable(tf.tensor(normals(i * h, 1, 0.05), [i, h]));
  const w2 = tf.variable(tf.tensor(normals(h * o, 2, 0.1), [h, o]));
  const f = tf.function(
    (x: tf.Tensor) => ({ y: tf.softmax(tf.matMul(tf.relu(tf.matMul(x, w1)), w2)) }),
    { inputSignature: [tf.TensorSpec([null, i], "float32", "x")] },
  );
  await saveModel(`${folder}/mlp`, { signatures: { serving_default: f } });
  // Short numbers, as pixels are: the text of a request is a fifth of what full doubles would take.
  const pixels = Array.from(normals(i, 3), (x) => Math.round(100 * x) / 100);
  const { y } = f(tf.tensor([pixels]));
  return {
    body: JSON.stringify({ instances: [pixels] }),
    expected: Array.from(y.dataSync() as Float32Array),
  };
}

/** Starts the command; gives its address. */
async function start(
  folder: string,
  flags: readonly string[],
): Promise<[Deno.ChildProcess, string]> {
  const main = new URL("../src/serve/mod.ts", import.meta.url).pathname;
  const config = new URL("../tests/npm_only/import_map.json", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      "--import-map",
      config,
      main,
      `${folder}/mlp`,
      "--port=0",
      ...flags,
    ],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const url = /http:\S+/.exec(value)?.[0];
  if (url === undefined) throw new Error(`Cannot start the server: it said "${value}"`);
  return [child, url];
}

interface Load {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  readonly lost: number;
}

async function hold(
  url: string,
  { body, expected }: { body: string; expected: number[] },
  { seconds, clients }: { seconds: number; clients: number },
): Promise<Load> {
  const times: number[] = [];
  let lost = 0;
  const end = performance.now() + 1000 * seconds;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const started = performance.now();
      const answer = await fetch(`${url}/v1/models/mlp:predict`, { method: "POST", body });
      const { predictions } = await answer.json() as { predictions?: number[][] };
      times.push(performance.now() - started);
      // Rows of a batch are summed in another order than a row by itself.
      const row = predictions?.[0];
      if (row === undefined || !row.every((v, i) => Math.abs(v - expected[i]!) < 1e-6)) lost++;
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const elapsed = (performance.now() - started) / 1000;
  times.sort((a, b) => a - b);
  const at = (q: number): number =>
    times[Math.min(times.length - 1, Math.floor(q * times.length))]!;
  return { perSecond: times.length / elapsed, p50: at(0.5), p99: at(0.99), most: at(1), lost };
}

/** Runs the load with and without batches. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "60" },
      clients: { type: "string", default: "32" },
      write: { type: "boolean", default: false },
    },
  });
  await tf.setBackend("cpu");
  const folder = await Deno.makeTempDir({ prefix: "weft_bench_serve_" });
  const model = await makeModel(folder);
  const options = { seconds: Number(values.seconds), clients: Number(values.clients) };
  const lines = [
    `${options.clients} clients for ${options.seconds} s, one row of 784 numbers a request:`,
    "",
  ];
  let lost = 0;
  for (const [name, flags] of [["one by one", []], ["batches of 32", ["--batch=32"]]] as const) {
    const [child, url] = await start(folder, ["--device=cpu", ...flags]);
    await hold(url, model, { ...options, seconds: 1 });
    const load = await hold(url, model, options);
    lost += load.lost;
    lines.push(
      `- ${name}: ${load.perSecond.toFixed(0)} requests/s, p50 ${load.p50.toFixed(1)} ms, p99 ${
        load.p99.toFixed(1)
      } ms, most ${load.most.toFixed(1)} ms, ${load.lost} lost or wrong`,
    );
    child.kill("SIGTERM");
    await child.status;
  }
  await Deno.remove(folder, { recursive: true });
  const text = lines.join("\n");
  console.log(text);
  if (values.write) {
    await writeSection(new URL("./RESULTS.md", import.meta.url), { title: "Serving, CPU", text });
  }
  return lost === 0 ? 0 : 1;
}
