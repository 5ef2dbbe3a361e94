/** Buffers larger than one binding: results are computed in pieces, sources are bound several times, side by side. */
import type {
  BufferRange,
  BufferRef,
  GpuPlan,
  GpuVariant,
  Profile,
  Program,
} from "../../core/dispatch.ts";
import { GPU_DTYPES, gpuBytes } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { flatDispatch, type FlatWork } from "../dispatches.ts";

/** Alignment of offsets in bytes. */
export const ALIGN = 256;

/** A run of elements that one binding holds. */
export interface BufferPiece {
  readonly first: number;
  readonly count: number;
  /** The bound range; empty for the whole buffer. */
  readonly range: BufferRange;
}

/** Splits a buffer of `count` elements of `bytes` each into pieces that can be bound. */
export function piecesOf(count: number, bytes: number, profile: Profile): BufferPiece[] {
  if (count * bytes <= profile.maxBinding) return [{ first: 0, count, range: {} }];
  const most = Math.floor(profile.maxBinding / ALIGN) * ALIGN / bytes;
  return Array.from({ length: Math.ceil(count / most) }, (_, k) => {
    const first = k * most, n = Math.min(most, count - first);
    // Sizes of bindings are whole words.
    return {
      first,
      count: n,
      range: { offset: first * bytes, size: Math.ceil(n * bytes / 4) * 4 },
    };
  });
}

/**
 * Plans a dispatch of a program for each piece of a result of `count` elements of `bytes` each; `bind` returns the
 * bindings of a piece.
 */
export function planPieces(
  program: Program,
  [count, bytes]: readonly [number, number],
  profile: Profile,
  bind: (piece: BufferPiece) => Omit<FlatWork, "program">,
): GpuPlan {
  const pieces = count === 0 ? [] : piecesOf(count, bytes, profile);
  return {
    dispatches: pieces.map((piece) => flatDispatch({ program, ...bind(piece) }, profile)),
  };
}

/** A source bound in pieces, and the WGSL that reads them as one. */
export interface PiecedSource {
  readonly types: readonly string[];
  readonly buffers: readonly BufferRef[];
  /** Declares `readN(at)`, where N is the first binding; empty where one binding is enough. */
  readonly prelude: string;
}

/** Binds a buffer (of `count` elements of type `type`, `bytes` each) from binding `binding` on. */
export function piecedSource(
  buffer: BufferRef,
  count: number,
  type: string,
  bytes: number,
  binding: number,
  profile: Profile,
): PiecedSource {
  const pieces = piecesOf(count, bytes, profile);
  const buffers = pieces.map(({ range }) => ({ ...buffer, ...range }));
  const types = pieces.map(() => type);
  if (pieces.length === 1) return { types, buffers, prelude: "" };
  const lines = pieces.map(({ first, count: n }, k) =>
    `${k === pieces.length - 1 ? "" : `if (at < ${first + n}u) `}{ return in${
      binding + k
    }[at - ${first}u]; }`
  );
  return {
    types,
    buffers,
    prelude: `fn read${binding}(at: u32) -> ${type} {\n${lines.join("\n")}\n}`,
  };
}

/** True where a buffer of this spec can be bound whole. */
export function bindable(spec: ConcreteSpec, profile: Profile): boolean {
  return sizeOf(spec.shape) * gpuBytes(spec.dtype) <= profile.maxBinding;
}

/** True where a buffer of this spec can be bound piece by piece beside `others` further bindings. */
export function bindableInPieces(spec: ConcreteSpec, others: number, profile: Profile): boolean {
  const pieces = piecesOf(sizeOf(spec.shape), gpuBytes(spec.dtype), profile).length;
  return pieces + others <= profile.maxBuffers;
}

/** Returns the specs of a problem's bound buffers: all except host inputs. */
function boundSpecs({ inputs, hosts, outputs }: Problem): ConcreteSpec[] {
  return [...inputs.filter((_, i) => hosts[i] === undefined), ...outputs];
}

/** True where every buffer of a problem can be bound whole. */
export function bindsWhole(problem: Problem, profile: Profile): boolean {
  return boundSpecs(problem).every((s) => bindable(s, profile));
}

/** True where the GPU can hold every buffer of a problem, and bind them whole at once. */
export function gpuFits(problem: Problem, profile: Profile): boolean {
  const specs = boundSpecs(problem);
  return specs.length <= profile.maxBuffers &&
    specs.every((s) => GPU_DTYPES.includes(s.dtype) && bindable(s, profile));
}

/** Makes variants on the description of a problem by `describe`; `size` is 0 where there is no work. */
export function describedVariant<T>(
  describe: (problem: Problem) => T,
  size: (described: T) => number,
) {
  return (
    name: string,
    fits: (described: T, profile: Profile) => boolean,
    plan: (described: T, profile: Profile) => GpuPlan,
  ): GpuVariant => ({
    name,
    fits: (problem, profile) => gpuFits(problem, profile) && fits(describe(problem), profile),
    plan: (problem, profile) => {
      const described = describe(problem);
      return size(described) === 0 ? { dispatches: [] } : plan(described, profile);
    },
  });
}

/** Restricts variants to problems whose buffers can all be bound whole; else the op runs elsewhere. */
export function boundWhole(variants: readonly GpuVariant[]): readonly GpuVariant[] {
  return variants.map((v) => ({
    ...v,
    fits: (problem, profile) =>
      bindsWhole(problem, profile) && (v.fits?.(problem, profile) ?? true),
  }));
}
