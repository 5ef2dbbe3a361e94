/**
 * The greatest elements of rows on the GPU. `thread`: an invocation per row goes through it for each result.
 * `workgroup`: pieces of rows are sorted in workgroup memory, the best of each piece enter the next round. `bitonic`:
 * whole rows are sorted in buffers, one dispatch a step.
 */
import type { DType } from "../../core/dtype.ts";
import type {
  BufferRef,
  Dispatch,
  GpuPlan,
  GpuVariant,
  Profile,
  Program,
} from "../../core/dispatch.ts";
import { isHalf, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import {
  TOPK_KEYS,
  TOPK_PIECE,
  TOPK_STEP,
  TOPK_THREAD,
  TOPK_VALUES,
} from "../../../shaders_generated.ts";
import type { Problem } from "../../core/op.ts";
import { keyFunction } from "./order.ts";
import { describedVariant } from "../copy/pieces.ts";
import { flatDispatch, flatPlan } from "../dispatches.ts";
import { LOOP_LIMIT } from "../reduce/wgsl.ts";
import { rowsOf } from "./row.ts";

/** Elements that are sorted in workgroup memory, as in shaders/topk/piece.wgsl: keys and indices take 8 bytes each. */
const PIECE = 1024;
/** Longest row that is sorted in buffers. */
const LONGEST = 2 ** 24;

interface TopK {
  readonly dtype: DType;
  readonly rows: number;
  readonly columns: number;
  readonly k: number;
}

function describe({ inputs: [x], outputs: [values] }: Problem): TopK {
  return { dtype: x.dtype, ...rowsOf(x.shape), k: values.shape[values.shape.length - 1] };
}

const variant = describedVariant(describe, (t) => t.rows * t.columns * t.k);

/** Variants of TopKV2; input 0 is the tensor, outputs are values and indices. */
export const topkVariants: readonly GpuVariant[] = [
  variant(
    "thread",
    (t) => t.k * t.columns <= LOOP_LIMIT && (t.k <= 4 || t.k * t.columns <= 4096),
    planThread,
  ),
  variant(
    "workgroup",
    (t, profile) => profile.barriers && (t.columns <= PIECE || t.k <= PIECE / 2),
    planWorkgroup,
  ),
  variant("bitonic", (t) => t.columns <= LONGEST, planBitonic),
];

/** Returns the parameters of the shaders that make keys. */
function elements(dtype: DType): { element: string; half: boolean; key: string } {
  return { element: wgslType(dtype), half: isHalf(dtype), key: keyFunction(dtype, false) };
}

function planThread({ dtype, rows, columns, k }: TopK, profile: Profile): GpuPlan {
  const workgroup = profile.barriers ? 64 : profile.lanes;
  return flatPlan({
    program: shaderProgram(TOPK_THREAD, { ...elements(dtype), workgroup }),
    buffers: [{ input: 0 }, { output: 0 }, { output: 1 }],
    params: [rows, columns, k],
  }, profile);
}

function planWorkgroup({ dtype, rows, columns, k }: TopK, profile: Profile): GpuPlan {
  const dispatches: Dispatch[] = [];
  const temps: number[] = [];
  let length = columns, source: BufferRef[] = [{ input: 0 }];
  for (;;) {
    const pieces = Math.ceil(length / PIECE), last = pieces === 1;
    const kept = last ? k : Math.min(k, PIECE);
    const first = source.length === 1;
    const targets: BufferRef[] = last
      ? [{ output: 0 }, { output: 1 }]
      : [{ temp: temps.length }, { temp: temps.length + 1 }];
    if (!last) temps.push(4 * rows * pieces * kept, 4 * rows * pieces * kept);
    dispatches.push(flatDispatch({
      program: shaderProgram(TOPK_PIECE, { ...elements(dtype), first, last }),
      // The last round fetches values from the tensor by index.
      buffers: last && !first ? [...source, { input: 0 }, ...targets] : [...source, ...targets],
      params: [rows * pieces, length, pieces, kept, columns],
      groups: true,
    }, profile));
    if (last) return { dispatches, temps };
    source = targets;
    length = pieces * kept;
  }
}

function planBitonic({ dtype, rows, columns, k }: TopK, profile: Profile): GpuPlan {
  const length = 2 ** Math.ceil(Math.log2(columns));
  const all = rows * length;
  const workgroup = profile.barriers ? 256 : 64;
  const keys: BufferRef = { temp: 0 }, at: BufferRef = { temp: 1 };
  const own = { ...elements(dtype), workgroup };
  const step = shaderProgram(TOPK_STEP, { workgroup });
  const dispatches: Dispatch[] = [];
  const add = (
    program: Program,
    buffers: readonly BufferRef[],
    params: readonly number[],
  ): void => {
    dispatches.push(flatDispatch({ program, buffers, params }, profile));
  };
  add(shaderProgram(TOPK_KEYS, own), [{ input: 0 }, keys, at], [all, columns, length]);
  for (let size = 2; size <= length; size *= 2) {
    // The last round sorts each row in the same direction.
    const mask = size === length ? 0 : size;
    for (let half = size / 2; half >= 1; half /= 2) {
      add(step, [keys, at], [all / 2, mask, half]);
    }
  }
  const found: BufferRef[] = [{ input: 0 }, at, { output: 0 }, { output: 1 }];
  add(shaderProgram(TOPK_VALUES, own), found, [rows * k, columns, length, k]);
  return { dispatches, temps: [4 * all, 4 * all] };
}
