/**
 * Bands of matrices on the GPU.
 */
import { flatId, type GpuVariant, gridFor, makeProgram } from "../../core/dispatch.ts";
import { gpuBytes, wgslType } from "../../core/gpu_storage.ts";
import { sizeOf } from "../../core/shape.ts";

const WORKGROUP = 64;

/** Ways to run MatrixBandPart, tried in order. */
export const BAND_PART_VARIANTS: readonly GpuVariant[] = [{
  name: "band_part",
  fits: ({ inputs: [x] }, profile) => sizeOf(x.shape) * gpuBytes(x.dtype) <= profile.maxBinding,
  plan: ({ inputs: [x], hosts: [, lower, upper] }, profile) => {
    const size = sizeOf(x.shape);
    if (size === 0) return { dispatches: [] };
    const [rows, columns] = x.shape.slice(-2);
    const keep = (n: unknown, all: number): number => (Number(n) < 0 ? all : Number(n));
    const type = wgslType(x.dtype);
    const program = makeProgram({
      name: "band_part",
      inputs: [type],
      outputs: [type],
      params: ["total", "rows", "columns", "lower", "upper"],
      workgroup: [WORKGROUP, 1, 1],
      body: `let i = ${flatId(WORKGROUP)};
if (i >= p.total) { return; }
let c = i % p.columns; let r = i / p.columns % p.rows;
out0[i] = select(${type}(0), in0[i], (r <= c + p.lower) & (c <= r + p.upper));`,
    });
    return {
      dispatches: [{
        program,
        buffers: [{ input: 0 }, { output: 0 }],
        params: [size, rows, columns, keep(lower!.at(0), rows), keep(upper!.at(0), columns)],
        grid: gridFor(size, WORKGROUP, profile),
      }],
    };
  },
}];
