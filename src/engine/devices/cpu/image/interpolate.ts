/** Images interpolated at the positions of tables, bilinear or nearest: float32, of float32 or int32. */
import type { DType } from "../../../core/dtype.ts";
import { roundUp } from "../blocks.ts";
import { type Engine, type WasmFunction, words } from "../engine.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { type F4, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";

type Dtype = "float32" | "int32";

/** True for the supported dtypes of images. */
export function isPixels(dtype: DType): dtype is Dtype {
  return dtype === "float32" || dtype === "int32";
}

/** Bytes of a table entry: two offsets and the fraction between them. */
export const ENTRY = 12;

/** Writes an entry of a table: two offsets, in steps of `step` bytes, and the fraction between them. */
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

/** Returns the bytes of the room for `lines`: two rows of a result, which vectors overrun. */
export function roomOf(columns: number, depth: number): number {
  return 2 * roundUp(4 * columns * depth + 16);
}

/**
 * Interpolates an image: `run(to, from, entries of rows, rows, entries of columns, columns, depth, gap)`. `gap` bytes
 * are skipped after each row. `lines` are bilinear too: each line of the image is interpolated along the columns once,
 * which pays where rows share them. They take the address of a room as well.
 */
export function interpolation(
  engine: Engine,
  method: "nearest" | "bilinear" | "lines",
  dtype: Dtype,
): WasmFunction {
  const name = `interpolate ${method} ${dtype}`;
  if (method !== "lines") {
    return kernel(engine, name, 8, (s, p) => writeDirect(s, p, { method, dtype }));
  }
  return engine.compile(name, (m) => {
    const simd = (f: FunctionBuilder): Simd => new Simd(f, engine.features.relaxed);
    const line = m.function(null, words(5), null, (f, ...p) => writeLine(simd(f), p, dtype));
    m.function("run", words(9), null, (f, ...p) => {
      writeRows(simd(f), p, (...args) => f.run(line, ...args));
    });
  }).run;
}

function mix(s: Simd, a: F4, b: F4, far: F4): F4 {
  return s.madd(s.f.let(f32x4.sub(b, a)), far, a);
}

/** Pixels of so many vectors are unrolled. */
const MOST_VECTORS = 2;

/** Operands of the pixels of a row. */
interface Pixels {
  /** Target address; advanced. */
  readonly to: I;
  /** Entry of the column; advanced. */
  readonly column: I;
  readonly bytes: I;
  /** The lines of the image that are read. */
  readonly lines: readonly Value<"i32">[];
  /** Joins a pixel's vectors of each line. */
  readonly join: (vectors: readonly F4[]) => F4;
  readonly nearest: boolean;
  readonly dtype: Dtype;
}

type Vector = (at: Value<"i32">, offset?: number) => F4;

/** Writes the next pixel. */
function writePixel(s: Simd, p: Pixels, body: (vector: Vector) => void): void {
  const { f } = s;
  const [first, second] = [0, 4].map((offset) =>
    p.lines.map((line) => f.let(i32.add(line, i32.load(p.column, offset))))
  );
  const far = f.let(f32x4.loadSplat(p.column, 8));
  body((at, offset = 0) => {
    const load = (place: Value<"i32">): F4 => {
      const address = i32.add(place, at);
      if (p.dtype === "float32") return f.let(f32x4.load(address, offset));
      return f.let(f32x4.ofI32(i32x4.load(address, offset)));
    };
    return f.let(p.join(p.lines.map((_, i) => {
      return p.nearest ? load(first[i]) : f.let(mix(s, load(first[i]), load(second[i]), far));
    })));
  });
  f.advance(p.to, p.bytes);
  f.advance(p.column, ENTRY);
}

/** Writes pixels whose last vectors may overrun them. */
function writePixels(s: Simd, count: Value<"i32">, p: Pixels): void {
  const { f } = s;
  const all = (body: (vector: Vector) => void): void =>
    f.times(count, () => writePixel(s, p, body));
  const written = (vectors: number): void => {
    if (vectors > MOST_VECTORS) {
      return all((vector) => f.times(p.bytes, (at) => f.store(i32.add(p.to, at), vector(at)), 16));
    }
    f.if(i32.gt(p.bytes, 16 * vectors), () => written(vectors + 1), () =>
      all((vector) => {
        for (let v = 0; v < vectors; v++) f.store(p.to, vector(i32.const(0), 16 * v), 16 * v);
      }));
  };
  written(1);
}

/** Writes whole vectors, then the rest of the last one. */
function writeExactly(f: FunctionBuilder, to: I, bytes: Value<"i32">, vector: Vector): void {
  const at = f.variable("i32", 0), end = f.let(i32.and(bytes, -16));
  const left = f.variable("i32", i32.shrU(i32.and(bytes, 15), 2));
  for (const vectors of [2, 1]) {
    f.until(at, i32.sub(end, 16 * (vectors - 1)), 16 * vectors, () => {
      for (let v = 0; v < vectors; v++) f.store(i32.add(to, at), vector(at, 16 * v), 16 * v);
    });
  }
  f.if(left, () => storePart(f, i32.add(to, at), f.let(vector(at)), left));
}

/** Computes each pixel from the four around it, or from the nearest. */
function writeDirect(
  s: Simd,
  p: readonly I[],
  { method, dtype }: { method: "nearest" | "bilinear"; dtype: Dtype },
): void {
  const { f } = s, nearest = method === "nearest";
  const [to, from, row, rows, columns0, columns, depth, gap] = p;
  const bytes = f.variable("i32", i32.shl(depth, 2)), column = f.local("i32");
  // The last vector of a pixel overruns it by up to three elements, which may be as many pixels: the last ones are
  // written exactly.
  const most = i32.sub(i32.sub(columns, 1), i32.shl(i32.eq(depth, 1), 1));
  const others = f.variable("i32", most);
  f.if(i32.lt(others, 0), () => f.set(others, 0));
  f.times(rows, () => {
    const line = (offset: number): Value<"i32"> => f.let(i32.add(from, i32.load(row, offset)));
    const down = f.let(f32x4.loadSplat(row, 8));
    const pixels: Pixels = {
      to,
      column,
      bytes,
      nearest,
      dtype,
      lines: nearest ? [line(0)] : [line(0), line(4)],
      join: ([above, below]) => (nearest ? above : mix(s, above, below, down)),
    };
    f.set(column, columns0);
    writePixels(s, others, pixels);
    f.times(i32.sub(columns, others), () => {
      writePixel(s, pixels, (vector) => writeExactly(f, to, bytes, vector));
    });
    f.advance(to, gap);
    f.advance(row, ENTRY);
  });
}

function writeLine(s: Simd, [to, line, column, columns, bytes]: readonly I[], dtype: Dtype): void {
  const join = ([v]: readonly F4[]): F4 => v;
  writePixels(s, columns, { to, column, bytes, lines: [line], join, nearest: false, dtype });
}

/** Computes each row from two interpolated lines. */
function writeRows(s: Simd, p: readonly I[], writeLine: (...args: I[]) => void): void {
  const { f } = s, [to, from, row, rows, column, columns, depth, gap, room] = p;
  const bytes = f.variable("i32", i32.shl(depth, 2));
  const rowBytes = f.let(i32.mul(columns, bytes));
  // The lines: their current addresses, and their numbers.
  const upper = f.variable("i32", room), top = f.variable("i32", -1);
  const lower = f.variable("i32", i32.add(room, i32.add(rowBytes, 16)));
  const bottom = f.variable("i32", -1);
  const [other, wanted] = f.locals("i32", 2);
  const swap = (a: I, b: I): void => {
    f.set(other, a);
    f.set(a, b);
    f.set(b, other);
  };
  const bring = (line: I, place: I): void =>
    f.if(i32.ne(line, wanted), () => {
      f.set(line, wanted);
      writeLine(place, line, column, columns, bytes);
    });
  const load = (line: I, at: Value<"i32">, offset?: number): F4 =>
    f.let(f32x4.load(i32.add(line, at), offset));
  f.times(rows, () => {
    f.set(wanted, i32.add(from, i32.load(row)));
    // Rows advance in either direction: the one line then becomes the other.
    f.if(i32.ne(top, wanted), () => {
      swap(top, bottom);
      swap(upper, lower);
      bring(top, upper);
    });
    f.set(wanted, i32.add(from, i32.load(row, 4)));
    f.if(i32.ne(top, wanted), () => {
      const far = f.let(f32x4.loadSplat(row, 8));
      bring(bottom, lower);
      writeExactly(f, to, rowBytes, (...at) => mix(s, load(upper, ...at), load(lower, ...at), far));
    }, () => writeExactly(f, to, rowBytes, (...at) => load(upper, ...at)));
    f.advance(to, i32.add(rowBytes, gap));
    f.advance(row, ENTRY);
  });
}
