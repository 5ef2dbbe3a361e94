/** Copies row by row: tables hold the source of each row, segments describe its elements. */
import { type DType, DTYPES } from "../../../core/dtype.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { i32, i32x4, i8x16 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { Value } from "../wasm/value.ts";

/** Table entry of an element without a source. */
export const NOWHERE: number = -2147483648;

/** Bytes that are moved at once. */
export type Unit = 1 | 4;

/** The units of an element, and their number. */
export function unitsOf(dtype: DType): { readonly unit: Unit; readonly count: number } {
  const { bytes } = DTYPES[dtype], unit = bytes % 4 === 0 ? 4 : 1;
  return { unit, count: bytes / unit };
}

/** Elements of a row: filled, read forwards, read backwards, or one that is repeated. */
export interface Segment {
  readonly kind: "fill" | "run" | "back" | "still";
  readonly count: number;
  /** Offset of the element read first, in bytes. */
  readonly offset: number;
}

/** Description of a copy. */
export interface CopyTables {
  readonly unit: Unit;
  /** For each axis the source offsets of its coordinates, in bytes. */
  readonly tables: readonly Int32Array[];
  /** Segments of each row; where they are absent, the last table is of single elements. */
  readonly segments: readonly Segment[] | null;
}

/**
 * Fills a block from another; `fill` is the element for places without a source, repeated in each of its bytes where it
 * is one byte.
 */
export type CopyRun = (to: Pointer, from: Pointer, fill: number) => void;

/** Segments of so few elements are unrolled. */
const FEW = 4;
/** Bytes above which the engine's own copy is worth its call. */
const OWN_COPY = 1024;
/** Work of an element, as the work of pointwise kernels is counted. */
const WORK = 8;

/** Prepares a copy through tables. */
export function prepareTables(engine: Engine, copied: CopyTables): CopyRun {
  const { unit, tables, segments } = copied;
  const data = Int32Array.from(tables.flatMap((t) => [...t]));
  const row = unit * (segments?.reduce((n, s) => n + s.count, 0) ?? 1);
  const volumes = tables.map((_, d) => tables.slice(d + 1).reduce((n, t) => n * t.length, row));
  const starts = tables.map((_, d) => 4 * tables.slice(0, d).reduce((n, t) => n + t.length, 0));
  const run = rowsModule(engine, copied);
  const rest = segments?.flatMap((s) => [s.count * unit, s.offset]) ?? [];
  const args = (to: Pointer, from: Pointer, fill: number, at: Pointer): number[] => {
    const out = [to, from, fill];
    tables.forEach((t, d) => out.push(at + starts[d], t.length, volumes[d]));
    out.push(...rest);
    return out;
  };
  const rows = tables.length === 0 ? 1 : tables[0].length, work = WORK * rows * volumes[0] / unit;
  return (to, from, fill) => {
    const at = engine.scratch(data.byteLength);
    engine.heap.i32.set(data, at >>> 2);
    const whole = args(to, from, fill, at);
    if (rows === 1 || engine.parts(work) === 1) return void run(...whole);
    engine.inParts(run, { count: rows, work }, (first, size) => {
      const begin = [to + first * volumes[0], from, fill, at + 4 * first, size];
      return [...begin, ...whole.slice(5)];
    });
  };
}

/**
 * Writes the rows of an output, in order. Parameters: to, from, fill; for each axis its table, its extent and the bytes
 * below it; for each segment its bytes and offset.
 */
function rowsModule(engine: Engine, { unit, tables, segments }: CopyTables): WasmFunction {
  const axes = tables.length, fills = tables.map((t) => t.includes(NOWHERE));
  const kinds = segments?.map(({ kind, count }) =>
    kind + (count <= FEW ? count : kind === "run" && count * unit >= OWN_COPY ? " whole" : "")
  );
  const count = 3 + 3 * axes + 2 * (segments?.length ?? 0);
  return kernel(engine, `copy rows ${unit} ${fills} ${kinds ?? "table"}`, count, ({ f }, p) => {
    const [to, from, fill, ...rest] = p;
    const writer = elementWriter(f, to, unit);
    const filling = f.let(i32x4.splat(fill));
    const splat = (source: Value<"i32">): Value<"i32x4"> =>
      unit === 4 ? i32x4.loadSplat(source) : i32x4.ofBits(i8x16.loadSplat(source));
    const level = (d: number, place: Value<"i32">): void => {
      if (d === axes) return segments!.forEach((s, k) => write(s, k, place));
      const [table, extent, volume] = rest.slice(3 * d);
      const at = f.variable("i32", table);
      f.times(extent, () => {
        const step = f.let(i32.load(at));
        f.advance(at, 4);
        const below = (): void => {
          const here = f.let(i32.add(place, step));
          if (segments !== null || d < axes - 1) level(d + 1, here);
          else writer.run(here, unit);
        };
        if (!fills[d]) below();
        else f.if(i32.eq(step, NOWHERE), () => writer.fill(filling, volume), below);
      });
    };
    const write = ({ kind, count }: Segment, k: number, place: Value<"i32">): void => {
      const [given, offset] = rest.slice(3 * axes + 2 * k);
      const bytes = count <= FEW ? count * unit : given;
      const source = f.let(i32.add(place, offset));
      if (kind === "fill") writer.fill(filling, bytes);
      else if (kind === "still") writer.fill(f.let(splat(source)), bytes);
      else if (kind === "back") writer.back(source, bytes);
      else if (count > FEW && count * unit >= OWN_COPY) {
        f.copy(to, source, given);
        f.advance(to, given);
      } else writer.run(source, bytes);
    };
    level(0, from);
  });
}

/**
 * Returns writers of code that stores elements one after another and moves `to` past them. Lengths are bytes; constant
 * ones are unrolled.
 */
function elementWriter(f: FunctionBuilder, to: I, unit: Unit) {
  /** Whole vectors, then words, then bytes. */
  const steps = (bytes: Value<"i32"> | number, store: (size: 16 | 4 | 1) => void): void => {
    const sizes = ([16, 4, 1] as const).filter((size) => size >= unit);
    const step = (size: 16 | 4 | 1): void => {
      store(size);
      f.advance(to, size);
    };
    if (typeof bytes === "number") {
      let left = bytes;
      for (const size of sizes) for (; left >= size; left -= size) step(size);
      return;
    }
    const left = f.variable("i32", bytes);
    const loop = (times: number, size: 16 | 4 | 1): void =>
      f.while(i32.ge(left, times * size), () => {
        for (let t = 0; t < times; t++) step(size);
        f.advance(left, -times * size);
      });
    loop(4, 16);
    sizes.forEach((size) => loop(1, size));
  };
  return {
    /** Repeats the filling. */
    fill: (filling: Value<"i32x4">, bytes: Value<"i32"> | number): void =>
      steps(bytes, (size) => {
        if (size === 16) f.store(to, filling);
        else f.storeLane(to, filling, size, 0);
      }),
    /** Copies elements that follow each other in the source. */
    run: (source: Value<"i32">, bytes: Value<"i32"> | number): void => {
      const from = f.variable("i32", source);
      steps(bytes, (size) => {
        if (size === 16) f.store(to, i32x4.load(from));
        else if (size === 4) f.store(to, i32.load(from));
        else f.store8(to, i32.load8u(from));
        f.advance(from, size);
      });
    },
    /** Copies elements in reverse, from the named one on. */
    back: (source: Value<"i32">, bytes: Value<"i32"> | number): void => {
      const end = f.variable("i32", i32.add(source, unit));
      const turned = (load: Value<"i8x16">, size: number): Value<"i8x16"> => {
        const v = f.let(load);
        const lanes = Array.from({ length: 16 }, (_, i) => (size - unit - i + 2 * (i % unit)) & 15);
        return i8x16.shuffle(v, v, lanes);
      };
      steps(bytes, (size) => {
        const from = i32.add(end, -size);
        if (size === 16) f.store(to, turned(i8x16.load(from), 16));
        else if (size === unit) f.storeLane(to, i8x16.loadFour(from), size, 0);
        else f.storeLane(to, turned(i8x16.loadFour(from), size), size, 0);
        f.advance(end, -size);
      });
    },
  };
}
