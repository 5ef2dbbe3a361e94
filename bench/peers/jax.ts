// jax-js as a peer: WebGPU, or its multi-threaded WASM backend where the table is about the CPU.

import type * as JaxNamespace from "@jax-js/jax";
import { queueWaiter } from "../gpu_wait.ts";
import type { Device, Output } from "../row.ts";
import { threadsText } from "../threads.ts";
import { type Peer, versionOf } from "./peer.ts";

/** The functions of jax-js. */
export type Jax = typeof JaxNamespace;

/** An array of jax-js; using it gives it up, `.ref` keeps it. */
export type JaxArray = JaxNamespace.Array;

/** jax-js on one device. */
export interface JaxPeer extends Peer {
  readonly jax: Jax;
  /** Puts values on the device. */
  array(values: Float32Array<ArrayBuffer>, shape: readonly number[]): JaxArray;
  /**
   * Starts what an array waits for and wraps it. jax-js is lazy: an array that is disposed before anything asked for it
   * is never computed, so every call of a case must go through here.
   */
  start(array: JaxArray): Output | Promise<Output>;
}

function jaxOutput(array: JaxArray): Output {
  return {
    data: async () => await array.ref.data() as ArrayLike<number>,
    dispose: () => array.dispose(),
  };
}

/** Sets jax-js up on a device. */
export async function createJaxPeer(device: Device): Promise<JaxPeer> {
  const jax: Jax = await import("@jax-js/jax");
  const version = versionOf("@jax-js/jax");
  const backend = device === "cpu" ? "wasm" : "webgpu";
  if (!(await jax.init(backend)).includes(backend)) throw new Error(`Cannot start ${backend}`);
  jax.defaultDevice(backend);
  const array = (values: Float32Array<ArrayBuffer>, shape: readonly number[]) =>
    jax.numpy.array(values).reshape([...shape]);
  const common = { name: "jax-js", version, device, jax, array };
  if (device === "cpu") {
    return {
      ...common,
      engine: `wasm SIMD, ${threadsText(navigator.hardwareConcurrency)}`,
      async start(result: JaxArray): Promise<Output> {
        await result.blockUntilReady();
        return jaxOutput(result);
      },
      finish: () => Promise.resolve(),
    };
  }
  const wait = queueWaiter(jax.getWebGPUDevice() as unknown as GPUDevice);
  return {
    ...common,
    engine: "webgpu",
    start(result: JaxArray): Output {
      // Asking for the buffer submits the work and does not wait for it.
      result.ref.gpuBufferSync();
      return jaxOutput(result);
    },
    finish: wait,
  };
}
