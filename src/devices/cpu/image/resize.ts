/**
 * Resizing of images: bilinear interpolation and nearest neighbours.
 */
import { type Shape, sizeOf } from "../../../core/shape.ts";
import {
  type AxisScale,
  axisScale,
  between,
  imageDims,
  nearestOf,
  sourceOf,
} from "../../../kernels/image/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import { prepareTables } from "../copy/copy_rows.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import { rowsOfEach } from "../pool/pool_parts.ts";
import { ENTRY, interpolation, isPixels, putEntry, roomOf } from "./interpolate.ts";

/** Work of an element, in floating point operations. */
const WORK = 20;

/** An image of the same size is the image. */
function prepareSame(engine: Engine, shape: Shape): FastRun {
  const segments = [{ kind: "run", count: sizeOf(shape), offset: 0 }] as const;
  const run = prepareTables(engine, { unit: 4, tables: [], segments });
  return ([y], [x]) => run(y, x, 0);
}

function isSame([, height, width]: Shape, [, rows, columns]: Shape): boolean {
  return height === rows && width === columns;
}

export const prepareBilinear: FastPrepare = (engine, { inputs: [x], outputs: [out], attrs }) => {
  if (!isPixels(x.dtype) || out.dtype !== "float32") return null;
  const { batch, height, width, depth } = imageDims(x.shape);
  const [, rows, columns] = out.shape;
  const size = batch * rows * columns * depth;
  if (size === 0) return () => {};
  if (isSame(x.shape, out.shape) && x.dtype === out.dtype) return prepareSame(engine, x.shape);
  const table = new DataView(new ArrayBuffer(roundUp(ENTRY * (rows + columns))));
  const along = (scale: AxisScale, count: number, first: number, step: number): void => {
    for (let i = 0; i < count; i++) {
      putEntry(table, first + i, between(scale, sourceOf(scale, i)), step);
    }
  };
  along(axisScale(height, rows, attrs), rows, 0, 4 * width * depth);
  along(axisScale(width, columns, attrs), columns, rows, 4 * depth);
  const lines = rows > height, room = lines ? roomOf(columns, depth) : 0;
  const run = interpolation(engine, lines ? "lines" : "bilinear", x.dtype);
  const words = new Int32Array(table.buffer);
  return ([y], [p]) => {
    const parts = engine.parts(WORK * size), most = Math.min(rows, Math.ceil(parts / batch));
    const blocks = evenBlocks(rows, Math.ceil(rows / most), 1);
    // What is shared is done at once.
    const rooms = parts > 1 ? batch * blocks.length : 1;
    const at = engine.scratch(words.byteLength + rooms * room);
    engine.heap.i32.set(words, at >>> 2);
    engine.callAll(
      rowsOfEach(batch, blocks).map(({ image, row, rows: count }, i): WasmCall => {
        const args = [
          y + 4 * (image * rows + row) * columns * depth,
          p + 4 * image * height * width * depth,
          at + ENTRY * row,
          count,
          at + ENTRY * rows,
          columns,
          depth,
          0,
        ];
        if (lines) args.push(at + words.byteLength + i % rooms * room);
        return [run, args];
      }),
    );
  };
};

export const prepareNearest: FastPrepare = (engine, { inputs: [x], outputs: [out], attrs }) => {
  if (out.dtype === "bool") return null;
  const { batch, height, width, depth } = imageDims(x.shape);
  const [, rows, columns] = out.shape;
  if (batch * rows * columns * depth === 0) return () => {};
  if (isSame(x.shape, out.shape)) return prepareSame(engine, x.shape);
  const table = (from: number, to: number, step: number): Int32Array => {
    const scale = axisScale(from, to, attrs);
    return Int32Array.from({ length: to }, (_, i) => nearestOf(scale, i) * step);
  };
  const images = Int32Array.from({ length: batch }, (_, b) => 4 * b * height * width * depth);
  const run = prepareTables(engine, {
    unit: 4,
    tables: [images, table(height, rows, 4 * width * depth), table(width, columns, 4 * depth)],
    segments: [{ kind: "run", count: depth, offset: 0 }],
  });
  return ([y], [p]) => run(y, p, 0);
};
