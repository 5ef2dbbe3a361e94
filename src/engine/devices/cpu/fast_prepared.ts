/** Prepared kernels of vector code: they allocate their outputs, and are counted. */
import type { LevelMatrix } from "../../core/arrays/level_matrix.ts";
import { type DeviceBuffer, kernelTotal, type PreparedKernel } from "../../core/device.ts";
import type { Problem } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { byteLength } from "./byte_length.ts";
import type { FastRun } from "./fast.ts";
import type { Heap, Pointer } from "./heap.ts";
import { kernelError } from "./threads/kernel_error.ts";

/** Wraps a vector kernel, and the variant for a packed input. */
export function fastPrepared(heap: Heap, fast: FastRun, problem: Problem): PreparedKernel {
  const name = "simd", run = runFast(heap, fast, problem), { form, onto } = fast;
  if (form === undefined) {
    if (onto === undefined) return { name, run };
    const runOnto = (inputs: readonly (DeviceBuffer | undefined)[]): void => {
      kernelTotal.count++;
      try {
        fast([inputs[onto] as Pointer], inputs as readonly Pointer[]);
      } catch (e) {
        throw kernelError(e);
      }
    };
    return { name, run, onto: { input: onto, run: runOnto } };
  }
  const { input, key, bytes, differs, levels } = form;
  const make = (buffer: DeviceBuffer): Pointer => {
    const packed = heap.alloc(bytes);
    form.pack(packed, buffer as Pointer);
    return packed;
  };
  const specOf = (bytes: number): ConcreteSpec => ({ dtype: "float32", shape: [bytes / 4] });
  const packedRun = runFast(heap, form.run, problem), spec = specOf(bytes);
  const ofLevels = levels && {
    key: levels.key,
    spec: specOf(levels.bytes),
    make(matrix: LevelMatrix): Pointer {
      const packed = heap.alloc(levels.bytes);
      levels.pack(packed, matrix);
      return packed;
    },
    run: runFast(heap, levels.run, problem),
  };
  return { name, run, form: { input, key, spec, make, run: packedRun, differs, ofLevels } };
}

/** Runs the kernel between allocation and return; specialized for the common case of one output. */
function runFast(
  heap: Heap,
  fast: FastRun,
  { outputs }: Problem,
): (inputs: readonly DeviceBuffer[]) => DeviceBuffer[] {
  const bytes = outputs.map(byteLength);
  const run = (outs: Pointer[], inputs: readonly DeviceBuffer[]): Pointer[] => {
    kernelTotal.count++;
    try {
      fast(outs, inputs as readonly Pointer[]);
    } catch (e) {
      outs.forEach((p, i) => heap.free(p, bytes[i]));
      throw kernelError(e);
    }
    return outs;
  };
  if (outputs.length === 1) {
    const [only] = bytes;
    return (inputs) => run([heap.alloc(only)], inputs);
  }
  return (inputs) => run(heap.allocAll(bytes), inputs);
}
