/** Runs the vector kernel of a registered op, and the op's own loops, on the same arrays. */

import { tidy } from "@weft/weft";
import { assert } from "@std/assert";
import { type Attrs, inferOutputs, lookupOp, type OpDef } from "../../../src/engine/core/op.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import type { ConcreteSpec } from "../../../src/engine/core/tensor_spec.ts";
import { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import { byteLength } from "../../../src/engine/devices/cpu/byte_length.ts";
import { Heap, type Pointer } from "../../../src/engine/devices/cpu/heap.ts";
import { prepareFast } from "../../../src/engine/devices/cpu/prepare.ts";
import { DTYPES } from "../../../src/engine/core/dtype.ts";
import { problemOf } from "../../../src/library/testing/run_op.ts";
import { bytesOf, put, take } from "./engines.ts";

/** The op of this name. */
export function op(name: string): OpDef {
  const def = lookupOp(name);
  if (!def) throw new Error(`No op ${name}`);
  return def;
}

/** Runs the vector kernel, or returns null if there is none. */
export function runFast(
  engine: Engine,
  def: OpDef,
  inputs: readonly NdArray[],
  attrs: Attrs = {},
): NdArray[] | null {
  const problem = problemOf(def, inputs, attrs);
  const run = prepareFast(engine, def, problem);
  if (run === null) return null;
  const ins = inputs.map((x, i) => (problem.hosts[i] ? undefined : put(engine, x))) as number[];
  const results = resultsOf(engine, problem.outputs, (outs) => run(outs, ins));
  const { form } = run;
  if (form !== undefined) {
    const packed = engine.heap.alloc(form.bytes);
    form.pack(packed, ins[form.input]);
    const own = ins.with(form.input, packed);
    const again = resultsOf(engine, problem.outputs, (outs) => form.run(outs, own));
    assertAlike(again[0], results[0], `${def.name} of an input that was packed before`);
    engine.heap.free(packed, form.bytes);
  }
  ins.forEach((p, i) => p !== undefined && engine.heap.free(p, bytesOf(inputs[i])));
  return results;
}

/** The same but for rounding: few rows are summed in another order where nothing is packed. */
function assertAlike({ data: a }: NdArray, { data: b }: NdArray, what: string): void {
  const [got, wanted] = [a as Float32Array, b as Float32Array];
  const scale = wanted.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  const i = wanted.findIndex((v, i) =>
    !(Math.abs(got[i] - v) <= 1e-5 * scale) && !Object.is(v, got[i])
  );
  assert(i < 0, `${what}: element ${i} is ${got[i]}, not ${wanted[i]}`);
}

function resultsOf(
  engine: Engine,
  specs: readonly ConcreteSpec[],
  run: (outs: readonly Pointer[]) => void,
): NdArray[] {
  const { heap } = engine;
  const blocks = specs.map((spec) => {
    const end = Heap.blockBytes(byteLength(spec)), out = heap.alloc(end + GUARD);
    // Garbage, as in a block that was used before.
    heap.u8.fill(77, out, out + end).fill(MARK, out + end, out + end + GUARD);
    return { spec, out, end };
  });
  run(blocks.map(({ out }) => out));
  return blocks.map(({ spec, out, end }) => {
    const behind = heap.u8.subarray(out + end, out + end + GUARD);
    assert(behind.every((b) => b === MARK), `a kernel wrote behind its block of [${spec.shape}]`);
    const like = NdArray.zeros(spec.dtype, spec.shape);
    (like.data as Float32Array).set(take(engine, out, like));
    heap.free(out, end + GUARD);
    return like;
  });
}

/** Bytes behind the block of a result, where the next tensor would lie, and what they hold. */
const GUARD = 512, MARK = 0xa5;

/** Runs the op's own loops, or without them its parts in float64. */
export function runLoops(def: OpDef, inputs: readonly NdArray[], attrs: Attrs = {}): NdArray[] {
  if (!def.cpu) {
    const to = (x: NdArray, dtype: "float32" | "float64"): NdArray =>
      new NdArray(dtype, x.shape, new DTYPES[dtype].array!(x.data as Float32Array));
    const wide = inputs.map((x) => (x.dtype === "float32" ? to(x, "float64") : x));
    return tidy(() => def.expand!(wide, attrs).map((t) => to(t.ndarraySync(), "float32")));
  }
  const problem = problemOf(def, inputs, attrs);
  const outs = problem.outputs.map((spec) => NdArray.zeros(spec.dtype, spec.shape));
  def.cpu!(inputs, outs, problem);
  return outs;
}

/** An int32 vector: axes, shapes. */
export function ints(...values: number[]): NdArray {
  return new NdArray("int32", [values.length], new Int32Array(values));
}

/**
 * The last element of what a vector kernel makes of an image that is 0 but for its last element, 0.5. Of large images it should read
 * little: what is not read takes no memory.
 */
export function runSparsely(
  name: string,
  { image, rest, attrs }: {
    readonly image: readonly number[];
    readonly rest: readonly NdArray[];
    readonly attrs: Attrs;
  },
): number {
  const engine = new Engine(), def = op(name), { heap } = engine;
  const inputs = [{ dtype: "float32", shape: image } as const, ...rest];
  const { outputs, attrs: all } = inferOutputs(def, inputs, attrs);
  const specs = outputs as ConcreteSpec[], hosts = inputs.map(() => undefined);
  const run = prepareFast(engine, def, { inputs, outputs: specs, hosts, attrs: all })!;
  const x = heap.alloc(4 * sizeOf(image)), size = sizeOf(specs[0].shape), y = heap.alloc(4 * size);
  heap.f32[(x >>> 2) + sizeOf(image) - 1] = 0.5;
  run([y], [x, ...rest.map((r) => put(engine, r))]);
  return heap.f32[(y >>> 2) + size - 1];
}
