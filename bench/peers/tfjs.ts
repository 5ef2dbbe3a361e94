// TensorFlow.js as a peer: its WebGPU backend, and its WASM backend where the table is about the CPU.

import type * as Tfjs from "@tensorflow/tfjs-core";
import { packageFolder } from "../../tools/npm.ts";
import { queueWaiter } from "../gpu_wait.ts";
import type { Device, Output } from "../row.ts";
import { type Peer, versionOf } from "./peer.ts";

/** The union package: the core alone registers no gradients. Computed, so that type-checking does not fetch it. */
const UNION_PACKAGE = "npm:@tensorflow/tfjs@4.22.0";

/** The functions of TensorFlow.js; Weft has the same names, so rows are written once for both. */
export type Tf = typeof Tfjs;

/** TensorFlow.js on one device. */
export interface TfjsPeer extends Peer {
  readonly tf: Tf;
}

/** The used part of the WebGPU backend. */
interface WebGpuBackend {
  readonly device: GPUDevice;
  readonly commandEncoder: unknown;
  endComputePassEncoder(): void;
  submitQueue(): void;
}

async function loadWasm(): Promise<string> {
  const wasm = await import("@tensorflow/tfjs-backend-wasm");
  const folder = new URL("dist/", await packageFolder("@tensorflow/tfjs-backend-wasm"));
  wasm.setWasmPaths(decodeURIComponent(folder.pathname));
  return "wasm";
}

/** Sets TensorFlow.js up on a device; `load` gives the union package to programs that have it bundled. */
export async function createTfjsPeer(
  device: Device,
  load: () => Promise<Tf> = () => import(UNION_PACKAGE),
): Promise<TfjsPeer> {
  const tf = await load();
  const version = versionOf("@tensorflow/tfjs-core");
  // Without it every op looks for NaN and Node gets advice on the console.
  tf.enableProdMode();
  if (device === "cpu") {
    if (!await tf.setBackend(await loadWasm())) throw new Error("Cannot start the WASM backend");
    const simd = await tf.env().getAsync("WASM_HAS_SIMD_SUPPORT");
    const threads = await tf.env().getAsync("WASM_HAS_MULTITHREAD_SUPPORT");
    const engine = `wasm${simd ? " SIMD" : ""}, ${threads ? "threads" : "1 thread"}`;
    return { name: "TensorFlow.js", version, device, engine, tf, finish: () => Promise.resolve() };
  }
  await import("@tensorflow/tfjs-backend-webgpu");
  if (!await tf.setBackend("webgpu")) throw new Error("Cannot start the WebGPU backend");
  const backend = tf.backend() as unknown as WebGpuBackend;
  const wait = queueWaiter(backend.device);
  return {
    name: "TensorFlow.js",
    version,
    device,
    engine: "webgpu",
    tf,
    finish(): Promise<void> {
      if (backend.commandEncoder) {
        backend.endComputePassEncoder();
        backend.submitQueue();
      }
      return wait();
    },
  };
}

/** A TensorFlow.js tensor as the output of a case. */
export function tfOutput(tensor: Tfjs.Tensor): Output {
  return { data: () => tensor.data(), dispose: () => tensor.dispose() };
}
