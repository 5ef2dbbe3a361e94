// Weft itself, set up like its peers.

import type { Tensor } from "@tensorflow/tfjs-core";
import manifest from "../../deno.json" with { type: "json" };
import type { Device, Output } from "../row.ts";
import { threadsText } from "../threads.ts";
import type { Peer } from "./peer.ts";
import type { Tf } from "./tfjs.ts";

/** Weft's functions in rows beyond the names it shares with TensorFlow.js. */
interface WeftOnly {
  function<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R;
  scaledDotProductAttention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options?: { causal?: boolean; scale?: number },
  ): Tensor;
  readonly IndexedSlices: new (values: Tensor, indices: Tensor) => object;
  listDevices(): readonly { type: string; description?: string; software?: boolean }[];
}

/** Weft's functions: TensorFlow.js's names, and Weft's own. */
export type Weft = Tf & WeftOnly;

/** Weft on one device. */
export interface WeftPeer extends Peer {
  readonly tf: Weft;
}

/** The library's sources. */
const ENTRY = new URL("../../mod.ts", import.meta.url).href;

/** Sets Weft up on a device, from its sources, from a package made of them, or as it is loaded already. */
export async function createWeftPeer(
  device: Device,
  entry: string | Weft = ENTRY,
): Promise<WeftPeer> {
  const tf: Weft = typeof entry === "string" ? await import(entry) : entry;
  // Like its peers it is told which device to use; `ready()` would look for an adapter first.
  if (!await tf.setBackend(device)) throw new Error(`Cannot start Weft on ${device}`);
  return {
    name: "Weft",
    version: manifest.version,
    device,
    engine: device === "cpu" ? `cpu, ${threadsText(navigator.hardwareConcurrency)}` : device,
    tf,
    async finish(last: Output): Promise<void> {
      // Reading one element of the last output waits for the queue; it costs Weft a small dispatch its peers are spared.
      if (device === "webgpu") await last.firstElement?.();
    },
  };
}

/** A Weft tensor as the output of a case. */
export function weftOutput(tf: Weft, tensor: Tensor): Output {
  return {
    data: () => tensor.data(),
    dispose: () => tensor.dispose(),
    firstElement: () => readFirstElement(tf, tensor),
  };
}

/** Waits for a tensor's value by one of its elements, so that the wait is not a download. */
export async function readFirstElement(tf: Tf, tensor: Tensor): Promise<void> {
  const first = tf.tidy(() => tf.slice(tf.reshape(tensor, [-1]), [0], [1]));
  await first.data();
  first.dispose();
}
