/** Images sampled through projective transforms and rotations: nearest pixels of four bytes; interpolated float32. */
import type { Shape } from "../../../core/shape.ts";
import { imageDims } from "../../../kernels/image/geometry.ts";
import { rotationOf, warpOf } from "../../../kernels/image/warp_geometry.ts";
import { evenBlocks } from "../blocks.ts";
import { wordOf } from "../copy/fill.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastPrepare } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { rowsOfEach } from "../pool/pool_parts.ts";
import { NUMBERS, pixelReader, TABLE, type WarpKind } from "./warp_kernel.ts";

/** Work of a pixel and of each of its elements, in floating point operations. */
const PIXEL_WORK = 40, ELEMENT_WORK = 8;

/**
 * Prepares sampling of images of this shape into others, by `tables` transforms. `fills` are the bits of a pixel beyond
 * the edge. Returns the table of transforms, `NUMBERS` for each image or for all, and the function that samples.
 */
function prepareReads(
  engine: Engine,
  kind: WarpKind,
  { from, to, tables, fills }: { from: Shape; to: Shape; tables: number; fills: readonly number[] },
) {
  const { batch, height, width, depth } = imageDims(from);
  const [, rows, columns] = to;
  const read = pixelReader(engine, kind);
  // After the numbers, the filling pixel and as many zeros; vectors of them read on a little.
  const words = new Int32Array(tables * TABLE / 4 + 2 * (depth + 4));
  words.set(fills, tables * TABLE / 4);
  const work = batch * rows * columns * (PIXEL_WORK + ELEMENT_WORK * depth);
  const run = (y: Pointer, x: Pointer): void => {
    if (batch * rows * columns * depth === 0) return;
    const table = engine.scratch(words.byteLength);
    engine.heap.i32.set(words, table >>> 2);
    const parts = Math.min(rows, Math.ceil(engine.parts(work) / batch));
    const blocks = evenBlocks(rows, Math.ceil(rows / parts), 1);
    engine.callAll(
      rowsOfEach(batch, blocks).map(({ image, row, rows: count }): WasmCall => [read, [
        y + 4 * (image * rows + row) * columns * depth,
        x + 4 * image * height * width * depth,
        table + (tables === 1 ? 0 : image * TABLE),
        table + tables * TABLE,
        row,
        row + count,
        columns,
        height,
        width,
        depth,
      ]]),
    );
  };
  return { numbers: new Float64Array(words.buffer, 0, tables * NUMBERS), run };
}

export const prepareTransform: FastPrepare = (
  engine,
  { inputs: [x, transforms], outputs: [out], hosts, attrs },
) => {
  const warp = warpOf(attrs, hosts[3]), nearest = warp.interpolation === "NEAREST";
  if (x.dtype !== "float32" && !(x.dtype === "int32" && nearest)) return null;
  const tables = transforms.shape[0];
  const fills = new Array<number>(x.shape[3]).fill(wordOf(x.dtype, warp.fillValue));
  const reads = { from: x.shape, to: out.shape, tables, fills };
  const { numbers, run } = prepareReads(engine, warp, reads);
  return ([y], [p, t]) => {
    const { f32 } = engine.heap;
    for (let k = 0, at = t >>> 2; k < numbers.length; k += NUMBERS, at += 8) {
      for (let i = 0; i < 3; i++) {
        numbers[k + 2 * i] = f32[at + 3 + i];
        numbers[k + 2 * i + 1] = f32[at + i];
      }
      numbers.fill(f32[at + 6], k + 6, k + 8);
      numbers.fill(f32[at + 7], k + 8, k + 10);
    }
    run(y, p);
  };
};

export const prepareRotation: FastPrepare = (engine, { inputs: [x], outputs: [out], attrs }) => {
  const rotation = rotationOf(x.shape, attrs);
  const sin = Math.sin(rotation.radians), cos = Math.cos(rotation.radians);
  const fills = rotation.fill.map((v) => wordOf("float32", v));
  const kind = { interpolation: "NEAREST", fillMode: "CONSTANT" } as const;
  const reads = { from: x.shape, to: out.shape, tables: 1, fills };
  const { numbers, run } = prepareReads(engine, kind, reads);
  numbers.set([sin, cos, cos, -sin, rotation.y, rotation.x, 0, 0, 0, 0, rotation.y, rotation.x]);
  return ([y], [p]) => run(y, p);
};
