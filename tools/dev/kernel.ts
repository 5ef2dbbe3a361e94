/**
 * `deno task kernel OP SHAPE…`: calls a function of `tf` on tensors of ones, prints the kernels that ran and times it. WGSL is printed
 * as it is compiled; WebAssembly as text where the package `wabt` can be had, else by its size.
 *
 * A shape may end with a dtype: `deno task kernel gather 1000x64 32:int32`. Further arguments are JSON: `deno task kernel sum 64x64 --args='[1]'`.
 * `--device=webgpu` or `cpu` (the default is both).
 *
 * @module
 */

import { parseArgs } from "node:util";
import * as tf from "../../mod.ts";
import { kernelTrace } from "../../src/engine/core/device.ts";
import { kernelText } from "../../src/engine/runtime/debug.ts";
import { prepareWebGpu } from "../environment.ts";
import { runTask } from "./help.ts";

/** Disassembles WebAssembly. It is fetched when this tool first prints a kernel of the CPU. */
const DISASSEMBLER = "npm:wabt@1.0.37";

/** Calls of one sample, and samples of which the median is printed. */
const CALLS = 50, SAMPLES = 15;

const USAGE = "Usage: deno task kernel OP SHAPE… [--args=JSON] [--device=cpu|webgpu]";

type Callable = (...args: unknown[]) => unknown;

async function main(args: string[]): Promise<number> {
  const { values, positionals: [op, ...shapes] } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      args: { type: "string", default: "[]" },
      device: { type: "string", multiple: true, default: ["cpu", "webgpu"] },
    },
  });
  const call = (tf as unknown as Record<string, unknown>)[op ?? ""];
  if (typeof call !== "function") {
    console.error(`Cannot call ${JSON.stringify(op)}: tf has no function of that name\n${USAGE}`);
    return 2;
  }
  for (const device of values.device) {
    if (!await tf.setBackend(device as "cpu" | "webgpu")) {
      console.log(`\n== ${device}: there is no adapter`);
      continue;
    }
    console.log(`\n== ${device}`);
    const inputs = shapes.map(tensorOf);
    await show(() => (call as Callable)(...inputs, ...JSON.parse(values.args)));
  }
  return 0;
}

/** A tensor of ones, of a shape such as `2x3`, `2x3:int32` or `:bool`. */
function tensorOf(text: string): tf.Tensor {
  const [dims, dtype = "float32"] = text.split(":");
  const shape = dims === "" ? [] : dims!.split("x").map(Number);
  return tf.ones(shape, dtype as "float32");
}

/** Prints the kernels of a call's first run and the median time of a call. */
async function show(call: () => unknown): Promise<void> {
  const modules: BufferSource[] = [];
  const { Module } = WebAssembly;
  WebAssembly.Module = class extends Module {
    constructor(bytes: BufferSource) {
      super(bytes);
      modules.push(bytes);
    }
  };
  kernelTrace.print = (kernel) => console.log(kernelText(kernel));
  let result: unknown;
  try {
    result = call();
    await settled(result);
  } finally {
    kernelTrace.print = null;
    WebAssembly.Module = Module;
  }
  for (const bytes of modules) console.log(await assembly(bytes));
  const times = [];
  for (let sample = 0; sample < SAMPLES; sample++) {
    const start = performance.now();
    tf.tidy(() => {
      for (let i = 0; i < CALLS; i++) result = call();
      wait(result);
    });
    times.push((performance.now() - start) / CALLS);
  }
  const median = times.sort((a, b) => a - b)[SAMPLES >> 1]!;
  console.log(
    `${(median * 1000).toFixed(1)} µs a call (median of ${SAMPLES} times ${CALLS} calls)`,
  );
}

function first(result: unknown): tf.Tensor | undefined {
  return (Array.isArray(result) ? result : [result]).find((value) => value instanceof tf.Tensor);
}

const settled = async (result: unknown): Promise<void> => void await first(result)?.data();

const wait = (result: unknown): void => void first(result)?.dataSync();

/** The text of a WebAssembly module. */
async function assembly(bytes: BufferSource): Promise<string> {
  const view = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  try {
    const { default: load } = await import(DISASSEMBLER);
    const { readWasm } = await load();
    const module = readWasm(view, {
      ...{ simd: true, relaxed_simd: true, threads: true, multi_value: true },
      readDebugNames: true,
    });
    module.applyNames();
    return module.toText({ foldExprs: true, inlineExport: true });
  } catch (error) {
    return `WebAssembly of ${view.length} bytes; its text cannot be had: ${
      (error as Error).message
    }`;
  }
}

if (import.meta.main) {
  prepareWebGpu();
  await runTask(import.meta.url, main);
}
