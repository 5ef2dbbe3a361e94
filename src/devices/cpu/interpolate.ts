/**
 * Images between the places of tables, bilinear or nearest: float32, of float32 or int32.
 * May import core and this folder.
 */
import type { DType } from "../../core/dtype.ts";
import { roundUp } from "./blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "./engine.ts";
import type { Pointer } from "./heap.ts";
import type { FunctionBuilder, Local } from "./wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "./wasm/instructions.ts";
import { type F4, Simd } from "./wasm/simd.ts";
import type { Value } from "./wasm/value.ts";
import { storePart } from "./windows.ts";

type I = Local<"i32">;
type Method = "bilinear" | "nearest";
type Pixels = "float32" | "int32";

/** True for the dtypes of images that are read. */
export function isPixels(dtype: DType): dtype is Pixels {
  return dtype === "float32" || dtype === "int32";
}

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

/** Rooms of calls that are made at once. */
export interface Rooms {
  /** Bytes of each: two rows of a result, which vectors overrun. */
  readonly bytes: number;
  /** How many there are. */
  readonly count: number;
}

/** Calls that are made at once, at most. */
const MOST_ROOMS = 64;

/** Rooms for calls that make images of so many columns: one each where threads share them, else one for all. */
export function roomsFor(
  engine: Engine,
  [columns, depth]: readonly [number, number],
  { calls, work }: { calls: number; work: number },
): Rooms {
  const bytes = 2 * roundUp(4 * columns * depth + 16);
  return { bytes, count: engine.parts(work) > 1 ? Math.min(calls, MOST_ROOMS) : 1 };
}

/** Makes calls of {@linkcode interpolation}, given without their rooms: as many at once as there are rooms. */
export function callInRooms(
  engine: Engine,
  run: WasmFunction,
  { calls, rooms, at }: { calls: readonly number[][]; rooms: Rooms; at: Pointer },
): void {
  calls.forEach((args, k) => args.push(at + k % rooms.count * rooms.bytes));
  if (rooms.count === 1) {
    for (const args of calls) run(...args);
    return;
  }
  for (let first = 0; first < calls.length; first += rooms.count) {
    const some = calls.slice(first, first + rooms.count);
    engine.callAll(some.map((args): WasmCall => [run, args]));
  }
}

/**
 * An image between places: `run(to, from, entries of rows, rows, entries of columns, columns, depth, gap, room)`. `gap` bytes are
 * skipped after each row. A line of the image is brought to the places of the columns once, not for each row that it is in.
 */
export function interpolation(engine: Engine, method: Method, pixels: Pixels): WasmFunction {
  return engine.compile(`interpolate ${method} ${pixels}`, (m) => {
    const simd = (f: FunctionBuilder): Simd => new Simd(f, engine.features.relaxed);
    const line = m.function(null, LINE_PARAMS, null, (f, ...p) => {
      writeLine(simd(f), p, { method, pixels });
    });
    m.function("run", new Array<"i32">(9).fill("i32"), null, (f, ...p) => {
      writeRows(simd(f), p as unknown as I[], method, (...args) => f.run(line, ...args));
    });
  }).run;
}

/** To, line, entries, columns, bytes of a pixel. */
const LINE_PARAMS = ["i32", "i32", "i32", "i32", "i32"] as const;
type Line = readonly [I, I, I, I, I];

function writeLine(
  s: Simd,
  [to, line, column, columns, bytes]: Line,
  { method, pixels }: { method: Method; pixels: Pixels },
): void {
  const { f } = s;
  f.times(columns, () => {
    const before = f.let(i32.add(line, i32.load(column)));
    const after = f.let(i32.add(line, i32.load(column, 4)));
    const far = f.let(f32x4.loadSplat(column, 8));
    // The last vector overruns the pixel: the next one comes after it.
    f.times(bytes, (at) => {
      const load = (pixel: Value<"i32">): F4 => {
        const place = i32.add(pixel, at);
        return f.let(pixels === "int32" ? f32x4.ofI32(i32x4.load(place)) : f32x4.load(place));
      };
      const v = method === "nearest" ? load(before) : mix(s, load(before), load(after), far);
      f.store(i32.add(to, at), v);
    }, 16);
    f.advance(to, bytes);
    f.advance(column, ENTRY);
  });
}

function mix(s: Simd, a: F4, b: F4, far: F4): F4 {
  return s.madd(s.f.let(f32x4.sub(b, a)), far, a);
}

function writeRows(
  s: Simd,
  [to, from, row, rows, column, columns, depth, gap, room]: readonly I[],
  method: Method,
  writeLine: (...args: Line) => void,
): void {
  const { f } = s;
  const bytes = f.variable("i32", i32.shl(depth, 2));
  const rowBytes = f.let(i32.mul(columns, bytes)), end = f.let(i32.and(rowBytes, -16));
  const left = f.variable("i32", i32.shrU(i32.and(rowBytes, 15), 2));
  // Two lines that were brought to the columns: where they are now, and which they are.
  const upper = f.variable("i32", room), top = f.variable("i32", -1);
  const lower = f.variable("i32", i32.add(room, i32.add(rowBytes, 16)));
  const bottom = f.variable("i32", -1);
  const other = f.local("i32"), wanted = f.local("i32"), at = f.local("i32");
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
  const put = (vector: (offset: number) => F4): void => {
    f.set(at, 0);
    for (const vectors of [2, 1]) {
      f.until(at, i32.sub(end, 16 * (vectors - 1)), 16 * vectors, () => {
        for (let v = 0; v < vectors; v++) f.store(i32.add(to, at), vector(16 * v), 16 * v);
      });
    }
    f.if(left, () => storePart(f, i32.add(to, at), f.let(vector(0)), left));
  };
  f.times(rows, () => {
    f.set(wanted, i32.add(from, i32.load(row)));
    // Rows follow each other in either direction: what was the one line is then the other.
    f.if(i32.ne(top, wanted), () => {
      swap(top, bottom);
      swap(upper, lower);
      bring(top, upper);
    });
    const load = (line: I, offset: number): F4 => f.let(f32x4.load(i32.add(line, at), offset));
    const copy = (): void => put((offset) => load(upper, offset));
    if (method === "nearest") copy();
    else {
      f.set(wanted, i32.add(from, i32.load(row, 4)));
      f.if(i32.ne(top, wanted), () => {
        const far = f.let(f32x4.loadSplat(row, 8));
        bring(bottom, lower);
        put((offset) => mix(s, load(upper, offset), load(lower, offset), far));
      }, copy);
    }
    f.advance(to, i32.add(rowBytes, gap));
    f.advance(row, ENTRY);
  });
}
