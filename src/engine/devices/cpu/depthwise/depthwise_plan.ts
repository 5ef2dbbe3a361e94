/**
 * The reads of depthwise convolutions, of the image in place: rows outside are read from a row of zeros, and for
 * windows at the sides bits mark the columns that are inside. Channels last.
 */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import { cutRows, type PoolPart } from "../pool/pool_parts.ts";

/** A window: taps along both axes, the step between places of a row, and that between columns of the window. */
export type RowWindow = Readonly<Record<"height" | "width" | "stride" | "dilation", number>>;

/** Sizes that a kernel depends on. */
export type RowProblem = Pick<WindowGeometry, "channels" | "outChannels"> & { window: RowWindow };

/** Windows of up to this many taps have code of their own. */
const MOST_TAPS = 49;
/** Most columns, each of which has a bit. */
const MOST_COLUMNS = 31;

/** Returns the window, or null where it has too many taps for code of its own. */
export function rowWindow({ axes: [, h, w] }: WindowGeometry): RowWindow | null {
  if (h.filter * w.filter > MOST_TAPS || w.filter > MOST_COLUMNS) return null;
  return { height: h.filter, width: w.filter, stride: w.stride, dilation: w.dilation };
}

/** Number of a kernel's parameters from {@linkcode RowPlan}. */
export const PLAN_PARAMS = 14;
/**
 * Numbers of a block of places in the table: its offsets in a row of the image and in one of the result, its places at
 * the left side, inside and at the right side, and the address of the bits of those at the sides.
 */
export const BLOCK_WORDS = 6;

/**
 * Table entry of a row outside: no offset, all of which are multiples of four. Those of large images have the highest
 * bit.
 */
export const OUTSIDE = -1;
/** Bytes of image and result that a block of places touches: they stay in the first cache for all channels. */
const BLOCK_BYTES = 1 << 14;
/** Work of one tap of one channel, in floating point operations. */
const WORK = 3;

/** Makes calls of kernels over rows. */
export interface RowPlan {
  /** Floating point operations in all. */
  readonly work: number;
  /** Writes the tables to scratch memory. */
  tables(): Pointer;
  /**
   * Calls a kernel for all images, in parts where that pays; `pointers` are the result, the images, and the body's
   * operands.
   */
  run(run: WasmFunction, pointers: readonly Pointer[]): void;
  /** Returns the arguments of a call for a part of the images. */
  part(at: Pointer, pointers: readonly Pointer[], part: PoolPart): number[];
}

/** Makes the plan of a geometry. Places that are `apart` all count as at the left side. */
export function rowPlan(
  engine: Engine,
  { axes: [, y, x], batch, channels, outChannels }: WindowGeometry,
  apart = false,
): RowPlan {
  const pixel = 4 * channels, step = 4 * outChannels, line = pixel * x.in;
  const most = Math.floor(BLOCK_BYTES / (pixel * x.stride * y.filter + step));
  const rows = rowsOf(y, line), blocks = blocksOf(x, { pixel, step, most, apart });
  const multiplier = outChannels / channels, patterns = patternsOf(multiplier);
  // Patterns are vectors, and so stand first.
  const data = Int32Array.from([...patterns, ...rows, ...blocks.table]);
  const rowsAt = 4 * patterns.length, blocksAt = rowsAt + 4 * rows.length;
  const zeros = roundUp(data.byteLength);
  const zeroBytes = rows.includes(OUTSIDE) ? roundUp(line) + 64 : 0;
  const work = WORK * batch * y.out * x.out * outChannels * y.filter * x.filter;
  const part: RowPlan["part"] = (at, [result, images], part) => [
    result + (part.image * y.out + part.row) * step * x.out,
    images + part.image * line * y.in,
    part.images,
    at + rowsAt + 4 * y.filter * part.row,
    part.rows,
    step * x.out,
    line * y.in,
    at + blocksAt,
    blocks.count,
    at + zeros,
    at,
    pixel,
    step,
    multiplier,
  ];
  const tables = (): Pointer => {
    const at = engine.scratch(zeros + zeroBytes);
    engine.heap.i32.set(data, at >>> 2);
    if (zeroBytes > 0) engine.zero(at + zeros, zeroBytes);
    return at;
  };
  return {
    work,
    tables,
    run: (run, [result, images, ...rest]) => {
      const at = tables();
      const parts = cutRows(engine, { images: batch, rows: y.out, work });
      engine.callAll(parts.map((one) => [run, [...part(at, [result, images], one), ...rest]]));
    },
    part,
  };
}

/** Returns the rows that the window of each place reads, in bytes. */
function rowsOf({ in: extent, out, filter, stride, dilation, before }: WindowAxis, line: number) {
  return Array.from({ length: out * filter }, (_, i) => {
    const at = Math.floor(i / filter) * stride - before + i % filter * dilation;
    return at < 0 || at >= extent ? OUTSIDE : at * line;
  });
}

/** Divides the places of a row into blocks. */
function blocksOf(
  { in: extent, out, filter, stride, dilation, before }: WindowAxis,
  { pixel, step, most, apart }: { pixel: number; step: number; most: number; apart: boolean },
): { count: number; table: number[] } {
  const bits = Array.from({ length: out }, (_, p) => {
    let has = 0;
    for (let j = 0; j < filter; j++) {
      const at = p * stride - before + j * dilation;
      if (at >= 0 && at < extent) has += 2 ** j;
    }
    return has;
  });
  const isInside = (has: number): boolean => !apart && has === 2 ** filter - 1;
  const whole = bits.filter(isInside).length;
  const left = whole === 0 ? out : bits.findIndex(isInside), right = out - left - whole;
  const blocks = whole === 0 ? [{ from: 0, size: 0 }] : evenBlocks(whole, Math.max(4, most), 4);
  const table = blocks.flatMap(({ from, size }, i) => {
    const isFirst = i === 0, place = isFirst ? 0 : left + from;
    return [
      (place * stride - before) * pixel,
      place * step,
      isFirst ? left : 0,
      size,
      i === blocks.length - 1 ? right : 0,
      4 * (blocks.length * BLOCK_WORDS + (isFirst ? 0 : left)),
    ];
  });
  return { count: blocks.length, table: [...table, ...bits.filter((has) => !isInside(has))] };
}

/**
 * Returns, for each remainder of a filter by the multiplier, the bytes of four filters' channels, relative to the
 * first.
 */
function patternsOf(multiplier: number): number[] {
  if (multiplier === 1) return [];
  return Array.from({ length: 4 * multiplier }, (_, i) => {
    const channel = Math.floor((Math.floor(i / 4) + i % 4) / multiplier);
    return 0x03020100 + 0x04040404 * channel;
  });
}
