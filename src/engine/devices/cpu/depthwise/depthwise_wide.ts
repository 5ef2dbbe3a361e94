/** Depthwise convolution of places whose windows share nothing: one by one, several vectors of channels at a time. */
import type { Epilogue } from "../../../core/fusion.ts";
import { inPlaces, outPlaces, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { blockKernel } from "./depthwise_blocks.ts";
import type { RowProblem } from "./depthwise_plan.ts";
import { columnsOf, eachVector, TOGETHER } from "./depthwise_rows.ts";

/** Vectors of channels computed together. */
const VECTORS = 4;
/** Fewer channels are not worth a walk of their own at each place. */
const LEAST_CHANNELS = 32;
/** Fewer windows inside a row than this share nothing. */
const LEAST_INSIDE = 3;
/** Number of taps per loaded vector from which loading once pays more than reading in order. */
const MUCH_SHARED = 1.7;
/**
 * Images and results of so many bytes, and places of so many, are read faster in order: the second cache does not hold
 * them.
 */
const FAR_BYTES = 1 << 21, FAR_PLACE_BYTES = 1 << 10;
/** The first cache: `CACHE_WAYS` lines whose addresses differ by multiples of `CACHE_BYTES`. */
const CACHE_BYTES = 4096, LINE_BYTES = 64, CACHE_WAYS = 16;

/**
 * True where places are better taken one by one: few of a row are inside (1.1 to 2.4 times as fast), simultaneous reads
 * collide in the cache (1.6 to 3.4 times, for 512 and 1024 channels), or sharing saves less than reading in order (0.9
 * to 1.1 where the caches are ours alone, 1.1 to 1.4 where they are not).
 */
export function isWide(g: WindowGeometry): boolean {
  if (g.channels !== g.outChannels || g.channels < LEAST_CHANNELS) return false;
  const [, { filter: height }, { out, in: extent, stride, dilation, filter, before }] = g.axes;
  const last = Math.floor((extent - 1 - (filter - 1) * dilation + before) / stride);
  if (Math.min(out - 1, last) - Math.ceil(before / stride) < LEAST_INSIDE - 1) return true;
  const columns = columnsOf({ width: filter, stride, dilation }, TOGETHER[0]).length;
  // One vector of each tap and of each place read: where places are a power of two apart, the cache cannot hold them
  // all.
  const place = 4 * g.channels, apart = Math.max(LINE_BYTES, Math.min(CACHE_BYTES, place & -place));
  if (height * (filter + columns) > CACHE_WAYS * CACHE_BYTES / apart) return true;
  return TOGETHER[0] * filter < MUCH_SHARED * columns &&
    (place * g.batch * (inPlaces(g) + outPlaces(g)) > FAR_BYTES || place >= FAR_PLACE_BYTES);
}

/** Prepares the convolution where it {@linkcode isWide}; its plan has all places apart. */
export function depthwiseWide(
  engine: Engine,
  { window }: RowProblem,
  epilogue: Epilogue | undefined,
): WasmFunction {
  return blockKernel(engine, { name: "wide", window, epilogue }, (block) => {
    const { s, bases, pixel, step, filter, finish } = block, { f } = s;
    const [channel, has, image, tap] = f.locals("i32", 4), sums = f.locals("f32x4", VECTORS);
    const place = f.variable("i32", i32.add(block.result, block.to));
    const many = f.let(i32.sub(step, 16 * VECTORS)), gap = f.let(i32.mul(pixel, window.dilation));
    const vectors = (count: number): void => {
      const own = sums.slice(0, count);
      own.forEach((sum) => f.set(sum, s.k(0)));
      f.set(tap, i32.add(filter, channel));
      for (const base of bases) {
        f.set(image, i32.add(base, i32.add(block.from, channel)));
        for (let j = 0; j < window.width; j++) {
          f.if(i32.and(has, 2 ** j), () => {
            own.forEach((sum, u) =>
              f.set(sum, s.madd(f32x4.load(image, 16 * u), f32x4.load(tap, 16 * u), sum))
            );
          });
          f.advance(image, gap);
          f.advance(tap, step);
        }
      }
      const to = f.let(i32.add(place, channel));
      own.forEach((sum, u) => f.store(to, finish(sum, i32.add(channel, 16 * u)), 16 * u));
    };
    f.times(block.left, () => {
      f.set(has, i32.load(block.bits));
      f.advance(block.bits, 4);
      f.set(channel, 0);
      f.while(i32.le(channel, many), () => {
        vectors(VECTORS);
        f.advance(channel, 16 * VECTORS);
      });
      eachVector(f, { channel, step }, () => vectors(1));
      f.advance(block.from, i32.mul(pixel, window.stride));
      f.advance(place, step);
    });
  });
}
