/**
 * Picking and placing elements of rows by index, and binary search in sorted rows, on the GPU.
 */
import {
  type Dispatch,
  flatId,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  makeProgram,
  type Profile,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { fitsGpu } from "../reduce/wgsl.ts";
import { rowsOf } from "./row.ts";

const WORKGROUP = 64;
const cache = new Programs();
function cached(key: string, make: () => Program): Program {
  let p = cache.get(key);
  if (!p) cache.set(key, p = make());
  return p;
}

function flat(
  program: Program,
  buffers: Dispatch["buffers"],
  size: number,
  params: readonly number[],
  profile: Profile,
): Dispatch[] {
  if (size === 0) return [];
  return [{ program, buffers, params: [size, ...params], grid: gridFor(size, WORKGROUP, profile) }];
}

/** Kernel of elements of rows by index: inputs are the tensor and int32 indices. */
export const pickVariants: readonly GpuVariant[] = [{
  name: "pick",
  fits: ({ inputs, outputs }, profile) => fitsGpu([...inputs, ...outputs], profile),
  plan: ({ inputs: [x, indices] }, profile): GpuPlan => {
    const type = wgslType(x.dtype);
    const program = cached(`pick,${type}`, () =>
      makeProgram({
        name: "pick",
        inputs: [type, "i32"],
        outputs: [type],
        params: ["n", "columns", "k"],
        workgroup: [WORKGROUP, 1, 1],
        body: `let t = ${flatId(WORKGROUP)};
if (t >= p.n) { return; }
out0[t] = in0[(t / p.k) * p.columns + u32(in1[t])];`,
      }));
    const size = sizeOf(indices.shape),
      words = [rowsOf(x.shape).columns, rowsOf(indices.shape).columns];
    return {
      dispatches: flat(program, [{ input: 0 }, { input: 1 }, { output: 0 }], size, words, profile),
    };
  },
}];

/** Kernel of zeros with elements at indices, no two of a row alike: inputs are int32 indices and elements. */
export const placeVariants: readonly GpuVariant[] = [{
  name: "place",
  fits: ({ inputs: [indices, updates], outputs }, profile) =>
    fitsGpu([indices, updates, ...outputs], profile),
  plan: ({ inputs: [indices, updates], outputs: [out] }, profile): GpuPlan => {
    const type = wgslType(updates.dtype);
    const clear = cached(`clear,${type}`, () =>
      makeProgram({
        name: "clear",
        inputs: [],
        outputs: [type],
        params: ["n"],
        workgroup: [WORKGROUP, 1, 1],
        body: `let t = ${flatId(WORKGROUP)};
if (t >= p.n) { return; }
out0[t] = ${type}(0);`,
      }));
    const place = cached(`place,${type}`, () =>
      makeProgram({
        name: "place",
        inputs: ["i32", type],
        outputs: [type],
        params: ["n", "columns", "k"],
        workgroup: [WORKGROUP, 1, 1],
        body: `let t = ${flatId(WORKGROUP)};
if (t >= p.n) { return; }
out0[(t / p.k) * p.columns + u32(in0[t])] = in1[t];`,
      }));
    const size = sizeOf(indices.shape),
      words = [rowsOf(out.shape).columns, rowsOf(indices.shape).columns];
    return {
      dispatches: [
        ...flat(clear, [{ output: 0 }], sizeOf(out.shape), [], profile),
        ...flat(place, [{ input: 0 }, { input: 1 }, { output: 0 }], size, words, profile),
      ],
    };
  },
}];

/** Kernel of binary search: inputs are sorted rows and values. */
export function searchVariants(upper: boolean): GpuVariant[] {
  return [{
    name: "search",
    fits: ({ inputs, outputs }: Problem, profile: Profile) =>
      fitsGpu([...inputs, ...outputs], profile),
    plan: ({ inputs: [sorted, values] }: Problem, profile: Profile): GpuPlan => {
      const type = wgslType(sorted.dtype);
      const program = cached(`search,${type},${upper}`, () =>
        makeProgram({
          name: upper ? "upper_bound" : "lower_bound",
          inputs: [type, type],
          outputs: ["i32"],
          params: ["n", "columns", "k"],
          workgroup: [WORKGROUP, 1, 1],
          body: `let t = ${flatId(WORKGROUP)};
if (t >= p.n) { return; }
let base = (t / p.k) * p.columns;
let v = in1[t];
var low = 0u;
var high = p.columns;
while (low < high) {
  let middle = (low + high) / 2u;
  if (in0[base + middle] ${upper ? "<=" : "<"} v) { low = middle + 1u; } else { high = middle; }
}
out0[t] = i32(low);`,
        }));
      const size = sizeOf(values.shape),
        words = [rowsOf(sorted.shape).columns, rowsOf(values.shape).columns];
      return {
        dispatches: flat(
          program,
          [{ input: 0 }, { input: 1 }, { output: 0 }],
          size,
          words,
          profile,
        ),
      };
    },
  }];
}
