// Times Weft beside TensorFlow.js, jax-js and, on the CPU, onnxruntime-web on the same machine, in one process.
//
//   deno task bench [cpu|webgpu] [--threads N]... [--only ID]... [--heavy] [--quick] [--write] [--list]
//   deno task bench ops [cpu|webgpu] …    (the same flags; many common ops beside TensorFlow.js's; see op_rows/)
//   deno task bench script        (script ops; see script/main.ts)
//   deno task bench host [cpu|webgpu]   (what the host adds to kernels; see host.ts)
//   deno task bench models [cpu|webgpu]   (models of TensorFlow.js that npm packages bring; see models.ts)
//   deno task bench onnx --models FOLDER   (models of ONNX beside onnxruntime-web; see onnx/main.ts)
//   deno task bench onnx lora [cpu|webgpu]   (a step of LoRA beside the forward pass of a BERT; see onnx/lora.ts)
//   deno task bench layers [cpu|webgpu]   (training of TensorFlow.js's layers; see layers.ts)
//   deno task bench packages      (packages that are built on TensorFlow.js; see packages/main.ts)
//   deno task bench soak faults   (the data service while its processes are killed; see soak.ts)
//   deno task bench soak parallel (training by several processes while one is killed; see soak_parallel.ts)
//   deno task bench soak hostile  (servers among hostile clients; see hostile/soak.ts)
//   deno task bench soak each     (a server of models among hostile clients of one kind after the other; see hostile/each.ts)
//   deno task bench epoch         (batches from 10,000 files, for steps that run elsewhere; see epoch.ts)
//   deno task bench pages         (how soon the site's pages can be used; see pages.ts)
//   deno task bench serve         (a server of models at its limit; see serve.ts)
//   deno task bench cluster       (steps of sessions on servers, beside TensorFlow's; see cluster.ts)
//   deno task bench data          (batches of a data service; see data_service.ts)
//   deno task bench against ENTRY   (another state of the library in the same process; see against/)
//   deno task bench native        (transforms, solvers, texts and training beside TensorFlow's; see native/main.ts)
//   deno task bench gemm          (products beside the processor's rate; see gemm.ts)
//
// Without a device all tables are made. There is a table of the CPU for each number of threads, one and two where nothing
// is said, each made by a process of its own. --only keeps the rows whose id contains ID (a row asked for so runs even where
// it is heavy), --heavy runs the heavy rows on software adapters too, --quick takes few samples, --write puts the tables
// into bench/RESULTS.md.

import { parseArgs } from "node:util";
import { run } from "../tools/command.ts";
import { runTask } from "../tools/dev/help.ts";
import { adapterName, isSoftwareAdapter } from "./gpu_wait.ts";
import { createJaxPeer } from "./peers/jax.ts";
import { createOnnxPeer } from "./peers/onnx.ts";
import { createTfjsPeer } from "./peers/tfjs.ts";
import { createWeftPeer } from "./peers/weft.ts";
import { OP_ROWS } from "./op_rows/mod.ts";
import { writeResults } from "./results.ts";
import type { Device, Row } from "./row.ts";
import { ROWS } from "./rows/mod.ts";
import { EFFORT, type Effort, type Peers, type RowResult, runRow } from "./runner.ts";
import { participants, type Table, textTable } from "./table.ts";
import { limitThreads, threadsText } from "./threads.ts";

const RESULTS = new URL("./RESULTS.md", import.meta.url);

interface Options {
  /** The table of many ops, not that of the rows that aims are set for. */
  readonly ops: boolean;
  readonly devices: readonly Device[];
  /** Numbers of threads, a table of the CPU each. */
  readonly threads: readonly number[];
  readonly only: readonly string[];
  readonly heavy: boolean;
  readonly quick: boolean;
  readonly write: boolean;
  readonly list: boolean;
  readonly effort: Effort;
}

function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      threads: { type: "string", multiple: true, default: [] },
      only: { type: "string", multiple: true, default: [] },
      heavy: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
    },
  });
  const ops = positionals[0] === "ops";
  if (ops) positionals.shift();
  for (const name of positionals) {
    if (name !== "cpu" && name !== "webgpu") {
      throw new RangeError(`Cannot use device "${name}": it is one of cpu, webgpu`);
    }
  }
  const threads = values.threads.map(Number);
  for (const count of threads) {
    if (!Number.isInteger(count) || count < 1) {
      throw new RangeError(`Cannot use ${count} threads: the number of threads is 1 or more`);
    }
  }
  const devices = positionals.length > 0 ? positionals as Device[] : ["cpu", "webgpu"] as const;
  checkIds(values.only, rowsOn(devices, ops));
  return {
    ...values,
    ops,
    threads: threads.length > 0 ? threads : [1, 2].slice(0, navigator.hardwareConcurrency),
    devices,
    effort: values.quick ? EFFORT.quick : EFFORT.normal,
  };
}

/** The rows that tables of one of these devices may have. */
function rowsOn(devices: readonly Device[], ops: boolean): Row[] {
  return (ops ? OP_ROWS : ROWS).filter((row) =>
    devices.some((d) => row.devices?.includes(d) ?? true)
  );
}

/** Throws `RangeError` for a text that no id of the rows contains. */
function checkIds(only: readonly string[], rows: readonly Row[]): void {
  const ids = rows.map((row) => row.id);
  for (const part of only) {
    if (ids.some((id) => id.includes(part))) continue;
    throw new RangeError(`Cannot find a row for "${part}": ids are ${ids.join(", ")}`);
  }
}

/** Sets up every system that can be had; one that cannot is reported and left out. */
async function createPeers(device: Device, ops: boolean): Promise<Peers> {
  async function tryCreate<T>(name: string, create: () => Promise<T>): Promise<T | undefined> {
    try {
      return await create();
    } catch (error) {
      console.error(`Cannot set up ${name} on ${device}: ${error}`);
      return undefined;
    }
  }
  const weft = await tryCreate("Weft", () => createWeftPeer(device));
  const tfjs = await tryCreate("TensorFlow.js", () => createTfjsPeer(device));
  if (ops) return { ...(weft && { weft }), ...(tfjs && { tfjs }) };
  const jax = await tryCreate("jax-js", () => createJaxPeer(device));
  const onnx = device === "cpu" ? await tryCreate("onnxruntime-web", createOnnxPeer) : undefined;
  return {
    ...(weft && { weft, weftFunction: weft }),
    ...(tfjs && { tfjs }),
    ...(jax && { jax }),
    ...(onnx && { onnx }),
  };
}

function selectRows(device: Device, { only, heavy, ops }: Options, isSlow: boolean): Row[] {
  return rowsOn([device], ops).filter((row) => {
    if (only.length > 0) return only.some((part) => row.id.includes(part));
    return heavy || !isSlow || !row.heavy;
  });
}

async function processorName(threads: number): Promise<string> {
  const info = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  const model = info.match(/^model name\s*:\s*(.*)$/m)?.[1] ?? Deno.build.arch;
  return `${model}, ${threadsText(threads)}`;
}

async function runTable(device: Device, options: Options): Promise<void> {
  const isSlow = device === "cpu" || await isSoftwareAdapter();
  const rows = selectRows(device, options, isSlow);
  const [threads] = options.threads;
  const machine = device === "cpu" ? await processorName(threads!) : await adapterName();
  if (device === "cpu") limitThreads(threads!);
  const peers = await createPeers(device, options.ops);
  const results: RowResult[] = [];
  const table: Table = { device, ops: options.ops, peers, results };
  console.log(`${device} on ${machine}\n${participants(table).join(", ")}`);
  for (const row of rows) {
    results.push(await runRow(row, peers, options.effort));
    // Progress goes to the other stream, so that the tables can be redirected.
    console.error(
      textTable({ ...table, results: results.slice(-1) }).split("\n").slice(1).join("\n"),
    );
  }
  console.log(`\n${textTable(table)}\n`);
  if (options.write) {
    await writeResults(RESULTS, table, { machine, date: new Date().toISOString().slice(0, 10) });
  }
}

/** Makes a table of the CPU in a process of its own: threads that were started once stay. */
async function runApart(threads: number, options: Options): Promise<number> {
  const { ops, only, heavy, quick, write } = options;
  const flags = Object.entries({ heavy, quick, write }).filter(([, set]) => set)
    .map(([name]) => `--${name}`);
  const rows = only.map((id) => `--only=${id}`);
  const what = [...(ops ? ["ops"] : []), "cpu", `--threads=${threads}`];
  const program = ["run", "-A", "tools/run.ts", "bench/main.ts", ...what];
  return (await run(Deno.execPath(), [...program, ...flags, ...rows])).code;
}

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === "script") return await (await import("./script/main.ts")).main();
  if (args[0] === "host") return await (await import("./host.ts")).main(args.slice(1));
  if (args[0] === "layers") return await (await import("./layers.ts")).main(args.slice(1));
  if (args[0] === "models") return await (await import("./models.ts")).main(args.slice(1));
  if (args[0] === "packages") return await (await import("./packages/main.ts")).main(args.slice(1));
  if (args[0] === "onnx" && args[1] === "lora") {
    return await (await import("./onnx/lora.ts")).main(args.slice(2));
  }
  if (args[0] === "onnx") return await (await import("./onnx/main.ts")).main(args.slice(1));
  if (args[0] === "cluster") return await (await import("./cluster.ts")).main(args.slice(1));
  if (args[0] === "data") return await (await import("./data_service.ts")).main(args.slice(1));
  if (args[0] === "soak") return await (await import("./soak.ts")).main();
  if (args[0] === "starts") return await (await import("./starts/main.ts")).main(args.slice(1));
  if (args[0] === "pages") return await (await import("./pages.ts")).main(args.slice(1));
  if (args[0] === "epoch") return await (await import("./epoch.ts")).main(args.slice(1));
  if (args[0] === "serve") return await (await import("./serve.ts")).main(args.slice(1));
  if (args[0] === "against") return await (await import("./against/main.ts")).main(args.slice(1));
  if (args[0] === "native") return await (await import("./native/main.ts")).main(args.slice(1));
  if (args[0] === "gemm") return await (await import("./gemm.ts")).main();
  const options = readOptions(args);
  if (options.list) {
    for (const { id, what } of rowsOn(options.devices, options.ops)) {
      console.log(`${id.padEnd(20)} ${what}`);
    }
    return 0;
  }
  let code = 0;
  for (const device of options.devices) {
    if (device === "webgpu" || options.threads.length === 1) await runTable(device, options);
    else for (const threads of options.threads) code = await runApart(threads, options) || code;
  }
  return code;
}

// Workers and devices of the peers keep the event loop alive.
if (import.meta.main) await runTask(import.meta.url, main);
