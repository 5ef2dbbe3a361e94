/**
 * The values of a run: copying them, freeing them, making tensors of them, bringing them to the host.
 */
import { DTYPES } from "../../core/dtype.ts";
import { readNow } from "../../core/device.ts";
import { copiedLater, elementsOf, NdArray } from "../../core/nd_array.ts";
import { ending, whenReady } from "../../core/nest.ts";
import { cpuDevice, defaultDevice } from "../devices/devices.ts";
import { constantTensor } from "../eager/eager.ts";
import type { RunContext } from "./run_context.ts";
import { HandleStorage } from "../eager/storage.ts";
import { EagerTensor } from "../eager/tensor.ts";

/** A value of a run: a tensor, or an array that never left the host. */
export type RunValue = EagerTensor | NdArray;

/** Arrays of fewer bytes are copied faster than tensors are made of them. */
const LARGE = 1 << 14;

/** True for an array of numbers so large that it should go to where it is read, and not be copied before. */
export function isLarge(value: unknown): boolean {
  const data = value instanceof NdArray ? elementsOf(value) : value;
  return ArrayBuffer.isView(data) && data.byteLength >= LARGE;
}

/** A copy that shares nothing. Handles get one more holder. */
export function copyArray(a: NdArray): NdArray {
  if (DTYPES[a.dtype].kind !== "handle") return a.copy();
  for (const h of a.data as unknown[]) (h as { retain?: () => void } | null)?.retain?.();
  return a;
}

/** A copy of what never changes, made no sooner than somebody asks for its elements if it is large. */
export function copyConstant(a: NdArray): NdArray {
  return isLarge(a) ? copiedLater(a) : copyArray(a);
}

/** Frees a value, and what handles in it hold. */
export function releaseValue(v: RunValue | null | undefined): void {
  if (v instanceof EagerTensor) v.dispose();
  else if (v instanceof NdArray && v.dtype === "variant") {
    for (const h of v.data as unknown[]) (h as Partial<Disposable> | null)?.[Symbol.dispose]?.();
  }
}

/** Values of a run as tensors that the scopes in force own; those in `onHost`, by number, stay there. */
export function asTensors(
  values: readonly RunValue[],
  onHost?: ReadonlySet<number>,
): EagerTensor[] {
  return values.map((v, i) => {
    if (v instanceof NdArray && DTYPES[v.dtype].kind === "handle") {
      return new EagerTensor(
        v.dtype,
        v.shape,
        new HandleStorage(cpuDevice(), v.data as unknown[], v),
      );
    }
    if (v instanceof NdArray) {
      return constantTensor(v, onHost?.has(i) ? cpuDevice() : defaultDevice());
    }
    if (!(v instanceof EagerTensor)) return v;
    const t = v.alias(v.id);
    v.dispose();
    return t;
  });
}

/** Brings results to the host, all GPU ones in one copy, and frees the tensors. */
export function toHost(
  values: readonly RunValue[],
  context?: RunContext,
): NdArray[] | Promise<NdArray[]> {
  const gpu = values.filter((v): v is EagerTensor =>
    v instanceof EagerTensor && v.storage.device.type === "GPU"
  );
  const collect = (read: readonly NdArray[]): NdArray[] => {
    if (context?.aborted) throw context.reason;
    let k = 0;
    return values.map((v) => {
      if (v instanceof NdArray) return v;
      return v.storage.device.type === "GPU" ? read[k++] : v.ndarraySync();
    });
  };
  return ending(
    () =>
      gpu.length === 0
        ? collect([])
        : whenReady(readNow(gpu[0].storage.device, gpu.map((t) => t.memory)), collect),
    () => values.forEach(releaseValue),
  );
}
