/** Resizing of images and of crops: bilinear interpolation and nearest neighbours. */
import { type Shape, sizeOf } from "../../../core/shape.ts";
import { checkOwner, corners, cropPlace } from "../../../kernels/host/image/crop.ts";
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

/** Copies an image of the same size. */
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
    // Shared rooms serve one part at a time.
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

export const prepareCrop: FastPrepare = (engine, { inputs: [image], outputs: [out], attrs }) => {
  if (!isPixels(image.dtype)) return null;
  const { batch, height, width, depth } = imageDims(image.shape);
  const [count, rows, columns] = out.shape;
  const nearest = attrs.method === "nearest", rest = attrs.extrapolation_value;
  const run = interpolation(engine, nearest ? "nearest" : "bilinear", image.dtype);
  const words = new Int32Array(ENTRY / 4 * (rows + columns) * count);
  const table = new DataView(words.buffer);
  const imageBytes = 4 * height * width * depth, size = rows * columns * depth;

  return ([y], [x, boxes, owners]) => {
    const at = engine.scratch(words.byteLength), calls: WasmCall[] = [];
    const { f32, i32 } = engine.heap;
    const edges = f32.subarray(boxes >>> 2), owner = i32.subarray(owners >>> 2);
    for (let k = 0; k < count; k++) checkOwner(k, owner[k], batch);
    if (count * size === 0) return;
    let entry = 0;
    /** Writes the entries for the consecutive steps along an axis that lie in the image. */
    const along = (begin: number, end: number, extent: number, steps: number, step: number) => {
      let first = -1, inside = 0;
      for (let i = 0; i < steps; i++) {
        const corner = corners(cropPlace(begin, end, extent, i, steps), extent, nearest);
        if (corner === null) continue;
        if (inside++ === 0) first = i;
        putEntry(table, entry++, corner, step);
      }
      return { first, inside };
    };
    for (let k = 0; k < count; k++) {
      const [y1, x1, y2, x2] = edges.subarray(4 * k, 4 * k + 4), begin = entry;
      const down = along(y1, y2, height, rows, 4 * width * depth);
      const across = along(x1, x2, width, columns, 4 * depth);
      const to = (y >>> 2) + k * size;
      if (down.inside < rows || across.inside < columns) f32.fill(rest, to, to + size);
      if (down.inside * across.inside === 0) continue;
      calls.push([run, [
        4 * (to + (down.first * columns + across.first) * depth),
        x + owner[k] * imageBytes,
        at + ENTRY * begin,
        down.inside,
        at + ENTRY * (begin + down.inside),
        across.inside,
        depth,
        4 * (columns - across.inside) * depth,
      ]]);
    }
    i32.set(words.subarray(0, ENTRY / 4 * entry), at >>> 2);
    engine.callAll(calls, WORK * count * size);
  };
};
