/**
 * Runs a plan written for images with channels last on images with channels first: transposes before and after.
 */
import type { DType } from "../../core/dtype.ts";
import type { BufferRef, Dispatch, GpuPlan, Profile } from "../../core/dispatch.ts";
import { gpuBytes } from "../../core/gpu_storage.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { copyGpu } from "../copy/variants.ts";
import { plainAxis } from "../copy/map.ts";

/** An operand of a plan. */
export interface Operand {
  /** Where the op has it. */
  readonly buffer: BufferRef;
  /** Its shape there. */
  readonly shape: Shape;
  /** Element type. */
  readonly dtype: DType;
  /** True for images; filters stay as they are. */
  readonly image: boolean;
}

/** Buffers that stand for the operands while the inner plan is made. */
const STAND_IN = 1000;

/** Plans `inner` on channels-last copies of the images; `operands` lists inputs, then outputs (`isOutput`). */
export function channelsLast(
  inputs: readonly Operand[],
  outputs: readonly Operand[],
  profile: Profile,
  inner: (inputs: readonly BufferRef[], outputs: readonly BufferRef[]) => GpuPlan,
): GpuPlan {
  const temps: number[] = [];
  const stand = (list: readonly Operand[], of: "input" | "output"): BufferRef[] =>
    list.map((
      o,
      i,
    ) => (o.image
      ? (of === "input" ? { input: STAND_IN + i } : { output: STAND_IN + i })
      : o.buffer)
    );
  const plan = inner(stand(inputs, "input"), stand(outputs, "output"));
  temps.push(...(plan.temps ?? []));
  const holder = (o: Operand): BufferRef => {
    temps.push(Math.max(16, Math.ceil(sizeOf(o.shape) * gpuBytes(o.dtype) / 4) * 4));
    return { temp: temps.length - 1 };
  };
  const held = [inputs, outputs].map((list) => list.map((o) => (o.image ? holder(o) : o.buffer)));
  const real = (ref: BufferRef): BufferRef => {
    const { offset, size } = ref;
    const range = {
      ...(offset === undefined ? {} : { offset }),
      ...(size === undefined ? {} : { size }),
    };
    if ("input" in ref && ref.input >= STAND_IN) {
      return { ...held[0][ref.input - STAND_IN], ...range };
    }
    if ("output" in ref && ref.output >= STAND_IN) {
      return { ...held[1][ref.output - STAND_IN], ...range };
    }
    return ref;
  };
  const turn = (o: Operand, from: BufferRef, to: BufferRef, back: boolean): readonly Dispatch[] => {
    const [batch, channels] = o.shape;
    const places = sizeOf(o.shape.slice(2));
    const [rows, columns] = back ? [channels, places] : [places, channels];
    return copyGpu(
      {
        axes: [plainAxis(batch, rows * columns), plainAxis(rows, 1), plainAxis(columns, rows)],
        base: 0,
      },
      o.dtype,
      profile,
      { from, to },
    ).dispatches;
  };
  const dispatches = [
    ...inputs.flatMap((o, i) => (o.image ? turn(o, o.buffer, held[0][i], false) : [])),
    ...plan.dispatches.map((d) => ({ ...d, buffers: d.buffers.map(real) })),
    ...outputs.flatMap((o, i) => (o.image ? turn(o, held[1][i], o.buffer, true) : [])),
  ];
  return { dispatches, temps };
}
