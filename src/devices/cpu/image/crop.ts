/**
 * Crops of images, resized.
 */
import { checkOwner, corners, cropPlace } from "../../../kernels/host/image_crop.ts";
import { imageDims } from "../../../kernels/image/geometry.ts";
import type { WasmCall } from "../engine.ts";
import type { FastPrepare } from "../fast.ts";
import { ENTRY, interpolation, isPixels, putEntry } from "./interpolate.ts";

/** Work of an element, in floating point operations. */
const WORK = 20;

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
    /** Entries for the steps along an axis that lie in the image; they follow each other. */
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
