/**
 * Resizing of images: bilinear interpolation and nearest neighbours. Float32.
 * May import core, kernels and this folder.
 */
import type { Problem } from "../../core/op.ts";
import {
  axisScale,
  between,
  imageDims,
  nearestOf,
  sourceOf,
} from "../../kernels/image_geometry.ts";
import { prepareTables } from "./copy_rows.ts";
import type { Engine, WasmFunction } from "./engine.ts";
import type { FastPrepare } from "./fast.ts";
import type { Local } from "./wasm/function_builder.ts";
import { f32x4, i32 } from "./wasm/instructions.ts";
import { type F4, Simd } from "./wasm/simd.ts";
import type { Value } from "./wasm/value.ts";
import { storePart } from "./windows.ts";

type I = Local<"i32">;

/** Bytes of a table entry: two places and how far between them. */
export const ENTRY = 12;

/** Writes an entry of a table: two places, `step` bytes each, and how far between them. */
export function putEntry(
  table: DataView,
  entry: number,
  [low, high, far]: readonly [number, number, number],
  step: number,
): void {
  table.setInt32(ENTRY * entry, low * step, true);
  table.setInt32(ENTRY * entry + 4, high * step, true);
  table.setFloat32(ENTRY * entry + 8, far, true);
}

/**
 * Images between the places of a table: `run(to, from, table, batch, rows, columns, depth, bytes of an image, gap)`. The table has
 * entries for rows, then for columns; `gap` bytes are skipped after each row.
 */
export function interpolation(engine: Engine, method: "bilinear" | "nearest"): WasmFunction {
  return engine.compile(`resize ${method}`, (m) => {
    m.function("run", new Array<"i32">(9).fill("i32"), null, (f, ...p) => {
      writeResize(new Simd(f, engine.features.relaxed), p as unknown as I[], method);
    });
  }).run;
}

const prepareBilinear: FastPrepare = (engine, { inputs: [x], outputs: [out], attrs }) => {
  if (x.dtype !== "float32" || out.dtype !== "float32") return null;
  const { batch, height, width, depth } = imageDims(x.shape);
  const [, rows, columns] = out.shape;
  if (batch * rows * columns * depth === 0) return () => {};
  const vertical = axisScale(height, rows, attrs), horizontal = axisScale(width, columns, attrs);
  const table = new DataView(new ArrayBuffer(ENTRY * (rows + columns)));
  for (let r = 0; r < rows; r++) {
    putEntry(table, r, between(vertical, sourceOf(vertical, r)), 4 * width * depth);
  }
  for (let c = 0; c < columns; c++) {
    putEntry(table, rows + c, between(horizontal, sourceOf(horizontal, c)), 4 * depth);
  }
  const run = interpolation(engine, "bilinear");
  const words = new Int32Array(table.buffer);
  return ([y], [p]) => {
    const at = engine.scratch(words.byteLength);
    engine.heap.i32.set(words, at >>> 2);
    run(y, p, at, batch, rows, columns, depth, 4 * height * width * depth, 0);
  };
};

function writeResize(
  s: Simd,
  [to, from, table, batch, rows, columns, depth, imageBytes, gap]: readonly I[],
  method: "bilinear" | "nearest",
): void {
  const { f } = s;
  const column = f.local("i32"),
    row = f.local("i32"),
    left = f.local("i32"),
    channel = f.local("i32");
  const across = f.let(i32.add(table, i32.mul(rows, ENTRY)));
  const mix = (a: F4, b: F4, far: F4): F4 => f.let(s.madd(f.let(f32x4.sub(b, a)), far, a));
  f.times(batch, () => {
    f.set(row, table);
    f.times(rows, () => {
      const top = f.let(i32.add(from, i32.load(row))),
        bottom = f.let(i32.add(from, i32.load(row, 4)));
      const down = f.let(f32x4.loadSplat(row, 8));
      f.set(column, across);
      f.times(columns, () => {
        const before = f.let(i32.load(column)), after = f.let(i32.load(column, 4));
        const along = f.let(f32x4.loadSplat(column, 8));
        const place = (line: Value<"i32">, at: Value<"i32">): F4 =>
          f.let(f32x4.load(i32.add(i32.add(line, at), channel)));
        const pixel = (): F4 =>
          method === "nearest" ? place(top, before) : mix(
            mix(place(top, before), place(top, after), along),
            mix(place(bottom, before), place(bottom, after), along),
            down,
          );
        f.set(channel, 0);
        f.set(left, depth);
        f.while(i32.ge(left, 4), () => {
          f.store(to, pixel());
          f.advance(to, 16);
          f.advance(channel, 16);
          f.advance(left, -4);
        });
        f.if(left, () => {
          storePart(f, to, pixel(), left);
          f.advance(to, i32.shl(left, 2));
        });
        f.advance(column, ENTRY);
      });
      f.advance(to, gap);
      f.advance(row, ENTRY);
    });
    f.advance(from, imageBytes);
  });
}

const prepareNearest: FastPrepare = (
  engine: Engine,
  { inputs: [x], outputs: [out], attrs }: Problem,
) => {
  if (out.dtype === "bool") return null;
  const { batch, height, width, depth } = imageDims(x.shape);
  const [, rows, columns] = out.shape;
  if (batch * rows * columns * depth === 0) return () => {};
  const table = (from: number, to: number, step: number): Int32Array => {
    const scale = axisScale(from, to, attrs);
    return Int32Array.from({ length: to }, (_, i) => nearestOf(scale, i) * step);
  };
  const images = Int32Array.from({ length: batch }, (_, b) => 4 * b * height * width * depth);
  const run = prepareTables(
    engine,
    [images, table(height, rows, 4 * width * depth), table(width, columns, 4 * depth)],
    [{ kind: "run", count: depth, offset: 0 }],
  );
  return ([y], [p]) => run(y, p, 0);
};

/** The kernels by op name. */
export const RESIZE_KERNELS: readonly (readonly [string, FastPrepare])[] = [
  ["ResizeBilinear", prepareBilinear],
  ["ResizeNearestNeighbor", prepareNearest],
];
