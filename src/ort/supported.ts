/** listSupportedBackends: the execution providers of this process. */
import { listDevices } from "../engine/runtime/devices/devices.ts";

/**
 * Lists the execution providers that onnxruntime-node would, as far as devices were found.
 *
 * @example
 * ```ts
 * import * as ort from "@weft/weft/ort";
 * console.log(ort.listSupportedBackends()[0]); // {name: "cpu", bundled: true}
 * ```
 */
export function listSupportedBackends(): { readonly name: string; readonly bundled: boolean }[] {
  const gpu = listDevices().some(({ type }) => type === "GPU");
  return (gpu ? ["cpu", "webgpu"] : ["cpu"]).map((name) => ({ name, bundled: true }));
}
