/** Runs a plan written for images with channels last on images with channels first: transposes before and after. */
import type { DType } from "../../core/dtype.ts";
import type { BufferRef, Dispatch, GpuPlan, Profile } from "../../core/dispatch.ts";
import { gpuBytes } from "../../core/gpu_storage.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { copyGpu } from "../copy/variants.ts";
import { plainAxis } from "../copy/map.ts";

export interface Operand {
  /** The op's buffer. */
  readonly buffer: BufferRef;
  readonly shape: Shape;
  readonly dtype: DType;
  /** True for images; filters stay as they are. */
  readonly image: boolean;
}

/** Plans `inner` on channels-last copies of the images. */
export function channelsLast(
  operands: readonly Operand[],
  profile: Profile,
  inner: (buffers: readonly BufferRef[]) => GpuPlan,
): GpuPlan {
  const images = operands.filter((o) => o.image);
  // Negative numbers stand for the copies, which come after the temporaries of the inner plan.
  const { dispatches, temps = [] } = inner(
    operands.map((o) => (o.image ? { temp: -1 - images.indexOf(o) } : o.buffer)),
  );
  const real = (ref: BufferRef): BufferRef =>
    "temp" in ref && ref.temp < 0 ? { ...ref, temp: temps.length - 1 - ref.temp } : ref;
  const turn = (o: Operand, from: BufferRef, to: BufferRef): readonly Dispatch[] => {
    const [batch, channels] = o.shape, places = sizeOf(o.shape.slice(2));
    const [rows, columns] = "output" in to ? [channels, places] : [places, channels];
    const axes = [plainAxis(batch, rows * columns), plainAxis(rows, 1), plainAxis(columns, rows)];
    return copyGpu({ axes, base: 0 }, o.dtype, profile, { from, to }).dispatches;
  };
  const copies = images.map((o, i) => {
    const copy = { temp: temps.length + i };
    return "input" in o.buffer ? turn(o, o.buffer, copy) : turn(o, copy, o.buffer);
  });
  const isInput = images.map(({ buffer }) => "input" in buffer);
  return {
    dispatches: [
      ...copies.filter((_, i) => isInput[i]).flat(),
      ...dispatches.map((d) => ({ ...d, buffers: d.buffers.map(real) })),
      ...copies.filter((_, i) => !isInput[i]).flat(),
    ],
    temps: [
      ...temps,
      ...images.map((o) => Math.max(16, Math.ceil(sizeOf(o.shape) * gpuBytes(o.dtype) / 4) * 4)),
    ],
  };
}
