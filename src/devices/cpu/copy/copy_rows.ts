/**
 * Copies of four-byte elements row by row: tables say where each row is read, segments what its elements are.
 * May import devices/cpu.
 */
import { evenBlocks } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { i32, i32x4 } from "../wasm/instructions.ts";
import type { Value } from "../wasm/value.ts";

/** In a table: the place is filled. */
export const NOWHERE: number = -2147483648;

/** Elements of a row: filled, read forwards, read backwards, or one that is repeated. */
export interface Segment {
  readonly kind: "fill" | "run" | "back" | "still";
  readonly count: number;
  /** Of the element read first, in bytes. */
  readonly offset: number;
}

/** Fills a block from another; `fill` is the word for places that are read from nowhere. */
export type CopyRun = (to: Pointer, from: Pointer, fill: number) => void;

type I = Local<"i32">;

/** Segments of so few elements are written out. */
const FEW = 4;
/** Elements from which on the engine's own copy is worth the call that it is. */
const OWN_COPY = 256;
/** Work of an element, as the work of pointwise kernels is counted. */
const WORK = 8;

/**
 * Copies through a table for each axis of what its coordinates read, in bytes. Then come the segments of each row; without them,
 * the last table is of single elements.
 */
export function prepareTables(
  engine: Engine,
  tables: readonly Int32Array[],
  segments: readonly Segment[] | null,
): CopyRun {
  const data = Int32Array.from(tables.flatMap((t) => [...t]));
  const row = segments?.reduce((n, s) => n + s.count, 0) ?? 1;
  const volumes = tables.map((_, d) => tables.slice(d + 1).reduce((n, t) => n * t.length, row));
  const starts = tables.map((_, d) => 4 * tables.slice(0, d).reduce((n, t) => n + t.length, 0));
  const fills = tables.map((t) => t.includes(NOWHERE));
  const run = rowsModule(engine, fills, segments);
  const rest = segments?.flatMap((s) => [s.count, s.offset]) ?? [];
  const args = (to: Pointer, from: Pointer, fill: number, at: Pointer): number[] => {
    const out = [to, from, fill];
    tables.forEach((t, d) => out.push(at + starts[d], t.length, volumes[d]));
    out.push(...rest);
    return out;
  };
  const rows = tables.length === 0 ? 1 : tables[0].length;
  return (to, from, fill) => {
    const at = engine.scratch(data.byteLength);
    engine.heap.i32.set(data, at >>> 2);
    const whole = args(to, from, fill, at);
    const parts = rows > 1 ? engine.parts(WORK * rows * volumes[0]) : 1;
    if (parts === 1) return void run(...whole);
    engine.callAll(
      evenBlocks(rows, Math.ceil(rows / parts), 1).map((part): WasmCall => [run, [
        to + 4 * part.from * volumes[0],
        from,
        fill,
        at + 4 * part.from,
        part.size,
        ...whole.slice(5),
      ]]),
    );
  };
}

/**
 * Rows of an output, in order. Parameters: to, from, fill; for each axis its table, its extent and the elements below it; for each
 * segment its count and offset.
 */
function rowsModule(
  engine: Engine,
  fills: readonly boolean[],
  segments: readonly Segment[] | null,
): WasmFunction {
  const axes = fills.length;
  const kinds = segments?.map(({ kind, count }) =>
    kind + (count <= FEW ? count : kind === "run" && count >= OWN_COPY ? " whole" : "")
  );
  return engine.compile(`copy rows ${fills} ${kinds ?? "table"}`, (m) => {
    const count = 3 + 3 * axes + 2 * (segments?.length ?? 0);
    m.function("run", new Array<"i32">(count).fill("i32"), null, (f, ...p) => {
      const [to, from, fill, ...rest] = p as unknown as I[];
      const filling = f.let(i32x4.splat(fill));
      const level = (d: number, place: Value<"i32">): void => {
        if (d === axes) return segments!.forEach((s, k) => write(s, k, place));
        const [table, extent, volume] = rest.slice(3 * d);
        const at = f.variable("i32", table);
        f.times(extent, () => {
          const step = f.let(i32.load(at));
          f.advance(at, 4);
          const below = (): void => {
            const here = f.let(i32.add(place, step));
            if (segments !== null || d < axes - 1) return level(d + 1, here);
            f.store(to, i32.load(here));
            f.advance(to, 4);
          };
          if (!fills[d]) below();
          else f.if(i32.eq(step, NOWHERE), () => writeFill(f, to, volume, filling), below);
        });
      };
      const write = ({ kind, count: known }: Segment, k: number, place: Value<"i32">): void => {
        const [given, offset] = rest.slice(3 * axes + 2 * k);
        const few = known <= FEW, count = few ? known : given;
        const source = f.let(i32.add(place, offset));
        if (kind === "fill") writeFill(f, to, count, filling);
        else if (kind === "still") writeFill(f, to, count, f.let(i32x4.loadSplat(source)));
        else if (kind === "run" && !few && known >= OWN_COPY) {
          const bytes = f.let(i32.shl(given, 2));
          f.copy(to, source, bytes);
          f.advance(to, bytes);
        } else writeRun(f, to, source, count, kind === "back");
      };
      level(0, from);
    });
  }).run;
}

/** Whole vectors, then single elements; a count that is known is written out. Moves `to` on. */
function inVectors(
  f: FunctionBuilder,
  to: I,
  count: Value<"i32"> | number,
  vector: () => void,
  element: () => void,
): void {
  const step = (size: number, body: () => void): void => {
    body();
    f.advance(to, 4 * size);
  };
  if (typeof count === "number") {
    for (let n = count; n >= 4; n -= 4) step(4, vector);
    for (let n = count % 4; n > 0; n--) step(1, element);
    return;
  }
  const left = f.variable("i32", count);
  for (const [times, size, body] of [[4, 4, vector], [1, 4, vector], [1, 1, element]] as const) {
    f.while(i32.ge(left, times * size), () => {
      for (let t = 0; t < times; t++) step(size, body);
      f.advance(left, -times * size);
    });
  }
}

/** Stores the filling `count` times. */
function writeFill(
  f: FunctionBuilder,
  to: I,
  count: Value<"i32"> | number,
  filling: Value<"i32x4">,
): void {
  inVectors(f, to, count, () => f.store(to, filling), () => f.storeLane(to, filling, 4, 0));
}

/** Copies elements that follow each other in the source, or precede. */
function writeRun(
  f: FunctionBuilder,
  to: I,
  source: Value<"i32">,
  count: Value<"i32"> | number,
  back: boolean,
): void {
  const from = f.variable("i32", source);
  inVectors(f, to, count, () => {
    if (back) {
      const v = f.let(i32x4.load(i32.add(from, -12)));
      f.store(to, i32x4.shuffle(v, v, [3, 2, 1, 0]));
    } else f.store(to, i32x4.load(from));
    f.advance(from, back ? -16 : 16);
  }, () => {
    f.store(to, i32.load(from));
    f.advance(from, back ? -4 : 4);
  });
}
