/**
 * The gradient of a depthwise convolution's filter: images, or rows of them, are summed separately in float32, divided
 * among threads, and those sums in float64, in their order. Neither depends on the number of threads.
 */
import { outPlaces, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { type PoolPart, rowsOfEach } from "../pool/pool_parts.ts";
import { settleSums } from "../reduce/settle.ts";
import { f32x4, f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { rowPlan, rowWindow } from "./depthwise_plan.ts";
import { depthwiseFilterRows } from "./depthwise_rows.ts";

/** Most parts of few images. */
const MOST_PARTS = 32;
/** Least operations of such a part: a constant, since sums must be the same for any number of threads. */
const PART_WORK = 1e6;
/** Places of small images that are summed together. */
const PART_PLACES = 1024;
/** Most bytes of sums in memory at once. */
const SUMS_BYTES = 1 << 19;

/**
 * Prepares the gradient with one filter or more for each channel, or returns null where the window has no code of its
 * own.
 */
export function prepareFilterGradient(engine: Engine, g: WindowGeometry): FastRun | null {
  const window = rowWindow(g);
  if (window === null) return null;
  if (g.outChannels === 0) return () => {};
  const run = depthwiseFilterRows(engine, { ...g, window }), plan = rowPlan(engine, g);
  const fold = foldKernel(engine), settle = settleSums(engine);
  const parts = partsOf(g, plan.work), size = window.height * window.width * g.outChannels;
  const partBytes = roundUp(4 * size), sumBytes = 32 * Math.ceil(size / 4);
  const most = Math.max(1, Math.min(parts.length, Math.floor(SUMS_BYTES / partBytes)));
  const waves = evenBlocks(parts.length, most, 1);
  const bytes = roundUp(sumBytes) + most * partBytes;
  return ([to], [images, , dy]) =>
    engine.heap.lend(bytes, (sums) => {
      const own = sums + roundUp(sumBytes), tables = plan.tables();
      engine.zero(sums, sumBytes);
      for (const { from, size: count } of waves) {
        engine.zero(own, count * partBytes);
        const calls = parts.slice(from, from + count).map((part, k): WasmCall => [
          run,
          [...plan.part(tables, [dy, images], part), own + k * partBytes],
        ]);
        engine.callAll(calls, plan.work * count / parts.length);
        for (let k = 0; k < count; k++) fold(sums, own + k * partBytes, size);
      }
      settle(to, sums, size, 1);
    });
}

/** Returns the parts: rows of images, whole images, or several small ones. */
function partsOf(g: WindowGeometry, work: number): PoolPart[] {
  const { batch, axes: [, y] } = g;
  const wanted = Math.min(MOST_PARTS, Math.floor(work / PART_WORK));
  if (batch < wanted) {
    return rowsOfEach(batch, evenBlocks(y.out, Math.ceil(y.out * batch / wanted), 1));
  }
  const together = Math.max(1, Math.floor(PART_PLACES / Math.max(1, outPlaces(g))));
  return evenBlocks(batch, Math.min(together, Math.ceil(batch / Math.max(1, wanted))), 1)
    .map(({ from, size }) => ({ image: from, images: size, row: 0, rows: y.out }));
}

/** `fold(sums, part, count)` adds float32 to float64, whole vectors. */
function foldKernel(engine: Engine): WasmFunction {
  return kernel(engine, "depthwise sums", 3, ({ f }, [sums, part, count]) => {
    f.while(i32.gt(count, 0), () => {
      const v = f.let(f32x4.load(part)), high = f32x4.shuffle(v, v, [2, 3, 2, 3]);
      f.store(sums, f64x2.add(f64x2.load(sums), f64x2.ofF32(v)));
      f.store(sums, f64x2.add(f64x2.load(sums, 16), f64x2.ofF32(high)), 16);
      f.advance(sums, 32);
      f.advance(part, 16);
      f.advance(count, -4);
    });
  });
}
