/**
 * Convolutions of so few places that the filter is read in order, once: their patches are laid out as rows of a small matrix.
 */
import type { WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { prepareThin } from "../gemm/gemm_thin.ts";
import { i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { put } from "./conv_edges.ts";
import type { ConvParts } from "./conv_parts.ts";

/** The convolution; its image has one part. */
export function thinRun(
  engine: Engine,
  g: WindowGeometry,
  { parts: [part], length, edges }: ConvParts,
): FastRun {
  const { batch, outChannels: n, channels, axes } = g, { places, at, segments } = part;
  const m = batch * places, k = length * segments.length;
  const imageBytes = edges?.imageBytes ?? 4 * channels * axes[0].in * axes[1].in * axes[2].in;
  const thin = prepareThin(engine, { m, n, k, transB: false });
  const gather = patchKernel(engine);
  const numbers = Int32Array.from([
    ...segments.flatMap((offset) => [offset, 4 * length]),
    ...Array.from(
      { length: m },
      (_, row) => Math.floor(row / places) * imageBytes + at(row % places).read,
    ),
  ]);
  const pointers = 8 * segments.length, patches = roundUp(numbers.byteLength);
  const sides = patches + roundUp(4 * k * m + 16), bytes = sides + (edges?.bytes(batch) ?? 0);
  return ([y], [x, filter]) => {
    const base = engine.scratch(bytes), rows = base + patches;
    let from = x;
    if (edges) edges.fill(from = base + sides, x, batch);
    engine.heap.i32.set(numbers, base >>> 2);
    gather(rows, 4 * k, base + pointers, from, m, base, segments.length);
    thin([y], [rows, filter]);
  };
}

/** `run(to, step, pointers, base, rows, pieces, count)`: from each pointer the pieces (offset and bytes), side by side. */
function patchKernel(engine: Engine): WasmFunction {
  return kernel(engine, "conv patches", 7, ({ f }, p) => {
    const [to, step, pointers, base, rows, pieces, count] = p;
    const [target, bytes, row, piece, left] = f.locals("i32", 5);
    f.countDown(rows, 1, () => {
      f.set(target, to);
      f.set(row, i32.add(i32.load(pointers), base));
      f.set(piece, pieces);
      f.set(left, count);
      f.countDown(left, 1, () => {
        f.set(bytes, i32.load(piece, 4));
        put(f, target, bytes, i32.add(row, i32.load(piece)));
        f.advance(piece, 8);
      });
      f.advance(to, step);
      f.advance(pointers, 4);
    });
  });
}
