/**
 * Reductions `any` and `all`: sixteen bytes at a time. Groups of axes are reduced one after another, the innermost
 * first, so that the data shrinks each time.
 */
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import { axesOf, type Line, reduceLayout } from "../../../kernels/reduce/layout.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import { type Engine, type WasmCall, type WasmExports, words } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { i32, i32x4, i8x16 } from "../wasm/instructions.ts";
import type { Value } from "../wasm/value.ts";
import { overLines } from "./lines.ts";

type I = Local<"i32">;
type Bytes = Value<"i8x16">;

/** Work of one byte, in floating point operations. */
const WORK = 3;
/** Vectors of columns that are kept in registers. */
const STRIP = 8;
/** Least columns of a part. */
const PART_COLUMNS = 1024;

/** A fold of bytes as numbers: true may be any byte but 0. */
interface Fold {
  readonly name: string;
  /** The result of an empty reduction. */
  readonly identity: 0 | 1;
  readonly join: (a: Bytes, b: Bytes) => Bytes;
  /** Reduces all bytes to 0 or 1. */
  readonly settle: (v: Bytes) => Value<"i32">;
}
const ANY: Fold = {
  name: "any",
  identity: 0,
  join: i8x16.maxU,
  settle: (v) => i32.anyTrue(i32x4.ofBits(v)),
};
const ALL: Fold = { name: "all", identity: 1, join: i8x16.minU, settle: i32.allBytesTrue };

/** Prepares a reduction of bools; null for others. */
export function prepareBoolReduction(
  engine: Engine,
  { inputs: [x], outputs: [out], hosts: [, axes] }: Problem,
  op: "any" | "all",
): FastRun | null {
  const fold = op === "any" ? ANY : ALL;
  if (axes === undefined || x.dtype !== "bool") return null;
  const size = sizeOf(out.shape);
  const { dims, reduced, count } = reduceLayout(x.shape, axesOf(axes, x.shape.length));
  if (size === 0) return () => {};
  if (count === 0) {
    return ([o]) => void engine.heap.u8.fill(fold.identity, o, o + size);
  }
  const passes = passesOf(dims, reduced);
  if (passes.length === 0) return ([o], [p]) => void engine.heap.u8.copyWithin(o, p, p + size);
  return runPasses(engine, foldModule(engine, fold), passes);
}

function passesOf(dims: readonly number[], reduced: readonly boolean[]): Line[] {
  const passes: Line[] = [];
  for (let d = dims.length - 1, inner = 1; d >= 0; d--) {
    if (reduced[d]) passes.push({ outer: sizeOf(dims.slice(0, d)), length: dims[d], inner });
    else inner *= dims[d];
  }
  return passes;
}

function runPasses(engine: Engine, module: WasmExports, passes: readonly Line[]): FastRun {
  const between = passes.slice(0, -1).map(({ outer, inner }) => roundUp(outer * inner));
  const bytes = between.reduce((a, b) => a + b, 0);
  return ([o], [p]) => {
    const spare = engine.scratch(bytes + 64);
    let from = p, to = spare + 64;
    passes.forEach((line, i) => {
      const target = i < between.length ? to : o;
      const { length, inner } = line, source = from;
      if (inner === 1) reduceRows(engine, module, line, [source, target, spare]);
      else {
        const over = overLines(engine, line, { work: WORK, least: PART_COLUMNS });
        over(module.columns, (block, column, blocks, width) => {
          const at = source + block * length * inner + column;
          return [at, blocks, length, width, inner, target + block * inner + column];
        });
      }
      from = target;
      to += between[i];
    });
  };
}

/**
 * Reduces rows, which are divided among threads, and so are the parts of a single one, whose results meet in `spare`.
 */
function reduceRows(
  engine: Engine,
  { rows }: WasmExports,
  { outer: m, length: n }: Line,
  [from, to, spare]: readonly [from: Pointer, to: Pointer, spare: Pointer],
): void {
  const work = WORK * m * n;
  if (work < engine.worthSharing) return void rows(to, from, m, n);
  if (m > 1) return engine.alongSteps(rows, { count: m, work }, [to, from], [1, n], [n]);
  const parts = Math.min(32, engine.parts(work)), cut = evenBlocks(n, Math.ceil(n / parts), 64);
  engine.callAll(cut.map((c, k): WasmCall => [rows, [spare + k, from + c.from, 1, c.size]]));
  rows(to, spare, 1, cut.length);
}

/** Exports `rows(out, x, m, n)`, and `columns(x, outer, length, width, step, out)` where `step` is from row to row. */
function foldModule(engine: Engine, fold: Fold): WasmExports {
  return engine.compile(`bool ${fold.name}`, (m) => {
    m.function("rows", words(4), null, (f, ...p) => writeRows(f, fold, p));
    m.function("columns", words(6), null, (f, ...p) => writeColumns(f, fold, p));
  });
}

function writeRows(f: FunctionBuilder, fold: Fold, [out, x, m, n]: readonly I[]): void {
  const at = f.local("i32"), left = f.local("i32");
  const states = [0, 1, 2, 3].map(() => f.local("i8x16"));
  const identity = f.constant("i8x16", -fold.identity);
  const take = (count: number, offset = 0): void => {
    states.slice(0, count).forEach((v, u) => {
      f.set(v, fold.join(v, i8x16.load(at, offset + 16 * u)));
    });
  };
  const numbers = [0, 1, 2, 3].reduce<Value<"i32x4">>(
    (v, i) => i32x4.withLane(v, i, 0x03020100 + 0x04040404 * i),
    i32x4.const(0),
  );
  const mask = f.let(i8x16.ltU(i8x16.ofBits(numbers), i8x16.splat(n)));
  f.countDown(m, 1, () => {
    f.set(at, x);
    states.forEach((v) => f.set(v, identity));
    f.if(i32.gt(n, 15), () => {
      f.set(left, n);
      f.countDown(left, 64, () => {
        take(4);
        f.advance(at, 64);
      });
      f.countDown(left, 16, () => {
        take(1);
        f.advance(at, 16);
      });
      // The last sixteen again: repeated bytes change nothing.
      f.set(at, i32.sub(i32.add(x, n), 16));
      take(1);
    }, () => f.set(states[0], i8x16.select(i8x16.load(x), identity, mask)));
    const [a, b, c, d] = states;
    f.store8(out, fold.settle(fold.join(fold.join(a, b), fold.join(c, d))));
    f.advance(x, n);
    f.advance(out, 1);
  });
}

/** Strips of columns, each from its first row to its last. */
function writeColumns(
  f: FunctionBuilder,
  fold: Fold,
  [x, outer, length, width, step, out]: readonly I[],
): void {
  const at = f.local("i32"), left = f.local("i32"), j = f.local("i32");
  const states = Array.from({ length: STRIP }, () => f.local("i8x16"));
  const one = f.constant("i8x16", 1), size = f.let(i32.mul(length, step));
  const strip = (count: number, put: (to: Value<"i32">, v: Bytes, u: number) => void): void => {
    const taken = states.slice(0, count);
    f.set(at, i32.add(x, j));
    taken.forEach((v, u) => f.set(v, i8x16.load(at, 16 * u)));
    f.set(left, i32.sub(length, 1));
    f.countDown(left, 1, () => {
      f.advance(at, step);
      taken.forEach((v, u) => f.set(v, fold.join(v, i8x16.load(at, 16 * u))));
    });
    taken.forEach((v, u) => put(f.let(i32.add(out, j)), i8x16.minU(v, one), u));
  };
  const whole = (count: number): void => strip(count, (to, v, u) => f.store(to, v, 16 * u));
  f.countDown(outer, 1, () => {
    f.set(j, 0);
    f.while(i32.le(j, i32.sub(width, 16 * STRIP)), () => {
      whole(STRIP);
      f.advance(j, 16 * STRIP);
    });
    f.while(i32.le(j, i32.sub(width, 16)), () => {
      whole(1);
      f.advance(j, 16);
    });
    f.if(i32.lt(j, width), () => {
      f.if(i32.gt(width, 15), () => {
        // The last sixteen columns, some of them repeated.
        f.set(j, i32.sub(width, 16));
        whole(1);
      }, () => strip(1, (to, v) => storeBytes(f, to, v, width)));
    });
    f.advance(x, size);
    f.advance(out, width);
  });
}

/** Stores the first `count` bytes, fewer than sixteen. */
function storeBytes(f: FunctionBuilder, address: Value<"i32">, v: Bytes, count: I): void {
  const to = f.variable("i32", address), rest = f.variable("i32x4", i32x4.ofBits(v));
  const some = (bytes: number, store: () => void, next: () => Value<"i32x4">): void =>
    f.if(i32.and(count, bytes), () => {
      store();
      f.set(rest, next());
      f.advance(to, bytes);
    });
  some(8, () => f.storeLane(to, rest, 8, 0), () => i32x4.shuffle(rest, rest, [2, 3, 2, 3]));
  some(4, () => f.storeLane(to, rest, 4, 0), () => i32x4.shuffle(rest, rest, [1, 2, 3, 3]));
  some(2, () => [0, 1].forEach((l) => f.storeLane(to, rest, 1, l, l)), () => i32x4.shrU(rest, 16));
  f.if(i32.and(count, 1), () => f.storeLane(to, rest, 1, 0));
}
