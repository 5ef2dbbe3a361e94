/** Rows by index: gathered from a table, or scattered into one, added or overwritten. */
import type { MeaningOf, RowLayout } from "../../../core/meaning.ts";
import type { DType } from "../../../core/dtype.ts";
import { NdArray } from "../../../core/nd_array.ts";
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { outOfRange } from "../../../kernels/copy/gather_layout.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import { byteLength } from "../byte_length.ts";
import { type Engine, type WasmCall, type WasmFunction, words } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32, f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { type Unit, unitsOf } from "./copy_rows.ts";

/** Operation between a row and its place in the table. */
type Move = "pick" | "write" | "add floats" | "add ints";

/** Work of a gathered element, in floating point operations. */
const WORK = 8;

/** Addresses of the table, the rows and the places. */
type Whole = Readonly<Record<"table" | "rows" | "places", Pointer>>;

/** Prepares a gather of rows of input 0 by int32 indices in input 1; null for others. */
export function prepareGather(
  engine: Engine,
  { inputs: [, indices], outputs: [out] }: Problem,
  elements: RowLayout,
): FastRun | null {
  if (indices.dtype !== "int32") return null;
  const { unit, layout } = inBytes(out, elements), size = sizeOf(out.shape);
  const find = findPlaces(engine, layout, { spec: indices, skip: "none" });
  const run = moveRun(engine, "pick", unit);
  if (size === 0) return () => {};
  return ([rows], [table, at]) => {
    const whole = { table, rows, places: find(at) };
    moveRows(engine, run, layout, whole, engine.parts(WORK * size));
  };
}

/** Prepares a scatter of rows into a table by int32 indices; null for others, and for sums that are not of float32 or whole words. */
export function prepareScatter(
  engine: Engine,
  problem: Problem,
  { layout: layoutOf, inputs, how, skip }: MeaningOf<"scatter">,
): FastRun | null {
  const [out] = problem.outputs, indices = problem.inputs[inputs.indices];
  const { unit, layout } = inBytes(out, layoutOf(problem));
  if (indices.dtype !== "int32" || (how !== "write" && !SUMMED.has(out.dtype))) return null;
  const find = findPlaces(engine, layout, { spec: indices, skip });
  const add = out.dtype === "float32" ? "add floats" : "add ints";
  const run = moveRun(engine, how === "write" ? how : add, unit);
  const bytes = byteLength(out);
  const copy = kernel(engine, "copy bytes", 3, ({ f }, [to, from, n]) => f.copy(to, from, n));
  const put: FastRun = ([o], ins) => {
    const places = find(ins[inputs.indices]);
    if (inputs.start === undefined) engine.zero(o, bytes);
    else if (ins[inputs.start] !== o) copy(o, ins[inputs.start], bytes);
    if (layout.inner === 0) return;
    // A batch is not divided: two rows may have one place.
    moveRows(engine, run, layout, { table: o, rows: ins[inputs.rows], places });
  };
  return Object.assign(put, { onto: inputs.start });
}

/** Dtypes whose rows are added. */
const SUMMED: ReadonlySet<DType> = new Set(["float32", "int32", "uint32"]);

/** Converts a layout to bytes. */
function inBytes({ dtype }: ConcreteSpec, elements: RowLayout): { unit: Unit; layout: RowLayout } {
  const { unit, count } = unitsOf(dtype);
  return { unit, layout: { ...elements, inner: unit * count * elements.inner } };
}

/**
 * Finds the place of each index vector, in memory that the next kernel gets. Throws `InvalidArgumentError` where one
 * has none.
 */
function findPlaces(
  engine: Engine,
  { batch, count, dims }: RowLayout,
  { spec, skip }: { readonly spec: ConcreteSpec; readonly skip: "none" | "negative" },
): (indices: Pointer) => Pointer {
  const total = batch * count, dimBytes = roundUp(4 * dims.length);
  const { run } = engine.compile(`places ${skip}`, (m) => {
    m.function("run", words(5), "i32", (f, ...p) => writePlaces(f, skip === "negative", p));
  });
  return (indices) => {
    const own = engine.scratch(dimBytes + 4 * total), places = own + dimBytes;
    engine.heap.i32.set(dims, own >>> 2);
    const wrong = run(indices, total, dims.length, own, places);
    if (wrong >= 0) {
      const data = new Int32Array(engine.heap.memory.buffer, indices, sizeOf(spec.shape));
      throw outOfRange(new NdArray("int32", spec.shape, data), wrong, { dims });
    }
    return places;
  };
}

/** Parameters: index vectors, their number and length, extents, to. Returns the first invalid vector, or -1. */
function writePlaces(
  f: FunctionBuilder,
  skipsNegative: boolean,
  [indices, count, depth, dims, to]: readonly I[],
): void {
  const [place, value, extent] = f.locals("i32", 3);
  f.times(count, (j) => {
    f.set(place, 0);
    f.times(depth, (k) => {
      f.set(value, i32.load(indices));
      f.set(extent, i32.load(i32.add(dims, i32.shl(k, 2))));
      const far = i32.geU(value, extent);
      // A negative sum stays negative, whatever the other indices are.
      const known = (): void => f.set(place, i32.add(i32.mul(place, extent), value));
      if (!skipsNegative) {
        f.if(far, () => f.return(j));
        known();
      } else {
        f.if(i32.ge(place, 0), () => {
          f.if(i32.lt(value, 0), () => f.set(place, -1), () => {
            f.if(far, () => f.return(j));
            known();
          });
        });
      }
      f.advance(indices, 4);
    });
    f.store(to, place);
    f.advance(to, 4);
  });
  f.result(i32.const(-1));
}

/** Moves the rows of all batches, each in parts: of its blocks, or of the rows of its only block. */
function moveRows(
  engine: Engine,
  run: WasmFunction,
  layout: RowLayout,
  { table, rows, places }: Whole,
  parts = 1,
): void {
  const { batch, outer, count, inner, dims } = layout, extent = inner * sizeOf(dims);
  if (batch === 1 && parts === 1) {
    return void run(table, rows, places, outer, count, inner, extent);
  }
  const calls: WasmCall[] = [], ofBlocks = outer > 1, all = ofBlocks ? outer : count;
  for (let b = 0; b < batch; b++) {
    for (const { from, size } of evenBlocks(all, Math.ceil(all / parts), 1)) {
      const block = b * outer + (ofBlocks ? from : 0), row = ofBlocks ? 0 : from;
      const begin = [table + block * extent, rows + (block * count + row) * inner];
      const blocks = ofBlocks ? size : outer, own = ofBlocks ? count : size;
      calls.push([run, [...begin, places + 4 * (b * count + row), blocks, own, inner, extent]]);
    }
  }
  engine.callAll(calls);
}

/**
 * Parameters: table, rows, places, blocks, rows of a block, bytes of a row, and of a block's part of the table. Sums
 * have elements of four bytes.
 */
function moveRun(engine: Engine, move: Move, unit: Unit): WasmFunction {
  return kernel(engine, `rows ${move} ${unit}`, 7, ({ f }, p) => {
    const [table, rows, places, blocks, count, width, extent] = p;
    const [place, to, from, left] = f.locals("i32", 4);
    const [inTable, inRows] = move === "pick" ? [from, to] : [to, from];
    const vector = (offset: number): void => {
      const v = i32x4.load(from, offset);
      if (move === "add floats") {
        f.store(to, f32x4.add(f32x4.load(to, offset), f32x4.ofBits(v)), offset);
      } else f.store(to, move === "add ints" ? i32x4.add(i32x4.load(to, offset), v) : v, offset);
    };
    const word = (): void => {
      if (move === "add floats") f.store(to, f32.add(f32.load(to), f32.load(from)));
      else if (move === "add ints") f.store(to, i32.add(i32.load(to), i32.load(from)));
      else f.store(to, i32.load(from));
    };
    const byte = (): void => f.store8(to, i32.load8u(from));
    const whole = (bytes: number, body: () => void): void =>
      f.countDown(left, bytes, () => {
        body();
        [to, from].forEach((p) => f.advance(p, bytes));
      });
    const each = (body: () => void): void =>
      f.times(count, (j) => {
        f.set(place, i32.load(i32.add(places, i32.shl(j, 2))));
        f.if(i32.ge(place, 0), () => {
          f.set(inTable, i32.add(table, i32.mul(place, width)));
          f.set(inRows, i32.add(rows, i32.mul(j, width)));
          body();
        });
      });
    f.countDown(blocks, 1, () => {
      f.if(i32.eq(width, unit), () => each(unit === 1 ? byte : word), () => {
        each(() => {
          f.set(left, width);
          whole(64, () => [0, 16, 32, 48].forEach(vector));
          whole(16, () => vector(0));
          whole(4, word);
          if (unit === 1) whole(1, byte);
        });
      });
      f.advance(rows, i32.mul(count, width));
      f.advance(table, extent);
    });
  });
}
