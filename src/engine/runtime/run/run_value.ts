/** The values of a run: copies, disposal, and conversion between tensors and host arrays. */
import type { OpInput } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import { readNow } from "../../core/device.ts";
import { copiedLater, elementsOf, NdArray } from "../../core/nd_array.ts";
import { ending, whenReady } from "../../core/nest.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cpuDevice, defaultDevice } from "../devices/devices.ts";
import { constantTensor } from "../eager/eager.ts";
import type { RunContext } from "./run_context.ts";
import { HandleStorage } from "../eager/storage.ts";
import { EagerTensor, isEager } from "../eager/tensor.ts";

/** A value of a run: a tensor, or an array that never left the host. */
export type RunValue = EagerTensor | NdArray;

/** Smaller arrays are copied faster than tensors are made of them. */
const LARGE = 1 << 14;

/** True for a large numeric array, which should be moved to its reader and not copied before. */
export function isLarge(value: unknown): boolean {
  const data = value instanceof NdArray ? elementsOf(value) : value;
  return ArrayBuffer.isView(data) && data.byteLength >= LARGE;
}

/** Copies a value; a copied handle is one more holder. */
export function copyArray(a: NdArray): NdArray {
  if (DTYPES[a.dtype].kind !== "handle") return a.copy();
  for (const h of a.data as unknown[]) (h as { retain?: () => void } | null)?.retain?.();
  return a;
}

/** Copies a constant; a large one when its elements are first read. */
export function copyConstant(a: NdArray): NdArray {
  return isLarge(a) ? copiedLater(a) : copyArray(a);
}

/** Frees a value, and the contents of its handles. */
export function releaseValue(v: RunValue | null | undefined): void {
  // An array is the commonest value of the host: the question is asked first.
  if (!(v instanceof NdArray)) {
    if (isEager(v)) v.dispose();
  } else if (v.dtype === "variant") {
    for (const h of v.data as unknown[]) (h as Partial<Disposable> | null)?.[Symbol.dispose]?.();
  }
}

/** Converts values of a run to tensors owned by the scopes in force; those in `onHost`, by number, stay on the host. */
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

/** Gives results that are inputs, or one another, as those of a loop without a turn may be, ids of their own: tapes tell values by them. */
export function withOwnIds(outputs: Tensor[], inputs: readonly OpInput[]): Tensor[] {
  const known = new Set<number>();
  for (const x of inputs) if (isEager(x)) known.add(x.id);
  return outputs.map((t) => {
    if (!isEager(t)) return t;
    if (!known.has(t.id)) {
      known.add(t.id);
      return t;
    }
    const own = t.alias();
    t.dispose();
    return own;
  });
}

/** Uses the results of a run and keeps its inputs alive until then, even if their owners dispose them. */
export async function settled<R>(
  out: RunValue[] | Promise<RunValue[]>,
  inputs: readonly OpInput[],
  use: (values: RunValue[], inputs: readonly OpInput[]) => R | Promise<R>,
): Promise<R> {
  if (!(out instanceof Promise)) return await use(out, inputs);
  const held = inputs.map((x) => {
    if (!isEager(x)) return x;
    const own = x.hold();
    own.context = x.context;
    return own;
  });
  try {
    return await use(await out, held);
  } finally {
    for (const t of held) if (isEager(t)) t.dispose();
  }
}

/** Moves results to the host, those of a GPU in one copy, and frees the tensors. */
export function toHost(
  values: readonly RunValue[],
  context?: RunContext,
): NdArray[] | Promise<NdArray[]> {
  if (areArrays(values)) {
    if (context?.aborted) throw context.reason;
    return [...values];
  }
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

function areArrays(values: readonly RunValue[]): values is readonly NdArray[] {
  for (const v of values) if (!(v instanceof NdArray)) return false;
  return true;
}
