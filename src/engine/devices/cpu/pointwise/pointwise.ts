/**
 * Pointwise kernels: scalar expressions as vector loops over broadcast operands, compiled once for each expression and
 * pattern. Several expressions make several outputs in one pass.
 */
import { type DType, DTYPES } from "../../../core/dtype.ts";
import { type Expr, exprKey, exprType, mayFail } from "../../../core/scalar/expr.ts";
import { dividedByZero } from "../../../core/scalar/math.ts";
import { type Shape, sizeOf } from "../../../core/shape.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { collapseBroadcast, type Walk } from "../../../kernels/pointwise/broadcast.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { FAULT } from "../heap.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4, i8x16 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { laneNumbers, type Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import type { Lanes } from "./lane_printer.ts";
import { isLight, isLongChain, simdWeight } from "./lane_functions.ts";
import { loadGroup, loadSplat, storeGroup, storePart } from "./lane_memory.ts";
import {
  type Along,
  alongShortRows,
  fourRowsRun,
  isShortRows,
  shortRowsRun,
} from "./pointwise_short.ts";
import { importHosts, printSimdGroup, simdPrints } from "./print_simd.ts";
import { type RowSource, SourceRow } from "./source_row.ts";

/** The expressions, and the bytes of an element of each input and output. */
interface Source {
  readonly exprs: readonly Expr[];
  readonly dtypes: readonly DType[];
  readonly bytes: readonly number[];
  readonly outBytes: readonly number[];
  readonly work: number;
}

/**
 * Prepares the kernel for these expressions and shapes, or returns null where an expression or dtype has no vector
 * code.
 */
export function preparePointwise(
  engine: Engine,
  exprs: readonly Expr[],
  ins: readonly ConcreteSpec[],
  out: Shape,
): FastRun | null {
  const dtypes = ins.map((i) => i.dtype), size = sizeOf(out);
  if (!engine.features.simd || !simdPrints(exprs, dtypes)) return null;
  if (size === 0) return () => {};
  const source: Source = {
    exprs,
    dtypes,
    bytes: dtypes.map((t) => DTYPES[t].bytes),
    outBytes: exprs.map((e) => DTYPES[exprType(e, dtypes)].bytes),
    work: size * workOf(exprs, exprs.length + dtypes.length),
  };
  const walk = collapseBroadcast(out, ins.map((i) => i.shape));
  const run = walk.dims.length === 1
    ? flatRun(engine, source, walk)
    : nestedRun(engine, source, walk);
  return mayFail(exprs, dtypes) ? checked(engine, run) : run;
}

/** Throws where the kernel found a division by zero: the only failure of vector code. */
function checked({ heap }: Engine, run: FastRun): FastRun {
  return (outs, ins) => {
    run(outs, ins);
    if (heap.i32[FAULT >>> 2] === 0) return;
    heap.i32[FAULT >>> 2] = 0;
    dividedByZero();
  };
}

/** Variant of a kernel: its kind, its parameters beside outputs and inputs, and the inputs that move along a row. */
interface RowKind {
  readonly kind: string;
  readonly count: number;
  readonly moves: readonly boolean[];
}

function rowKernel(
  engine: Engine,
  { exprs, dtypes }: Source,
  { kind, count, moves }: RowKind,
  write: (row: Row, p: readonly Local<"i32">[]) => void,
): WasmFunction {
  const key = `pointwise ${exprKey(...exprs)}|${dtypes}|${kind}`;
  return kernel(engine, key, exprs.length + dtypes.length + count, (s, p) => {
    const row = new Row(s, { exprs, dtypes, moves });
    write(row, p);
    row.end();
  }, (m) => importHosts(m, exprs));
}

/** Returns the work of one element, in floating point operations: its reads and writes, and its arithmetic. */
export function workOf(exprs: readonly Expr[], operands: number): number {
  return 4 * operands + 5 * simdWeight(exprs);
}

/**
 * Runs whole blocks with constant operands. Calls with few arguments are specialized: spreading costs more than they
 * do.
 */
function flatRun(engine: Engine, source: Source, { dims: [n], strides }: Walk): FastRun {
  const { bytes, outBytes, work } = source, outs = outBytes.length, ins = bytes.length;
  const moves = strides.map(([stride]) => stride !== 0);
  const run = rowKernel(engine, source, { kind: `${moves}`, count: 1, moves }, (row, p) => {
    row.flat(p);
  });
  const whole: FastRun = outs === 1 && ins === 1
    ? (o, i) => run(o[0], i[0], n)
    : outs === 1 && ins === 2
    ? (o, i) => run(o[0], i[0], i[1], n)
    : (o, i) => run(...o, ...i, n);
  const steps = [...outBytes, ...bytes.map((size, k) => (moves[k] ? size : 0))];
  // Parts of whole cache lines: a part may run past its end, but not into another.
  const pieces = { count: n, work, multiple: 64 };
  return (o, i) => {
    if (work < engine.worthSharing) return whole(o, i);
    engine.alongSteps(run, pieces, [...o, ...i], steps, []);
  };
}

function nestedRun(engine: Engine, source: Source, { dims, strides }: Walk): FastRun {
  const { bytes, outBytes, work } = source, rank = dims.length;
  const pattern = strides.map((s) => s.map((x) => (x === 0 ? 0 : 1)).join(""));
  const rows = { dims, strides, bytes, outBytes, work };
  const along = alongShortRows(dims, strides);
  if (along) {
    const kind = { kind: `${pattern} fours`, count: 3, moves: along.map((a) => a !== "still") };
    const run = rowKernel(engine, source, kind, (row, p) => row.fours(p, along));
    return fourRowsRun(engine, run, rows, along);
  }
  const count = rank + bytes.length * (rank - 1), moves = strides.map((s) => s[rank - 1] !== 0);
  const run = rowKernel(engine, source, { kind: pattern.join(), count, moves }, (row, p) => {
    row.nest(p, strides, rank);
  });
  if (isShortRows(dims, strides)) return shortRowsRun(engine, run, rows);
  const fixed = [
    ...dims.slice(1),
    ...strides.flatMap((s, k) => s.slice(0, rank - 1).map((x) => x * bytes[k])),
  ];
  const below = sizeOf(dims.slice(1)), pieces = { count: dims[0], work };
  const steps = [...outBytes.map((b) => below * b), ...bytes.map((b, k) => strides[k][0] * b)];
  return (outs, ins) => {
    if (work < engine.worthSharing) return void run(...outs, ...ins, dims[0], ...fixed);
    engine.alongSteps(run, pieces, [...outs, ...ins], steps, fixed);
  };
}

/** Writes loops along one contiguous row, whose operands move along or are constant. */
class Row {
  readonly #s: Simd;
  readonly #source: RowSource;
  readonly #outTypes: readonly DType[];
  /** Vectors per turn. */
  readonly #unroll: number;

  constructor(s: Simd, source: RowSource) {
    const { exprs, dtypes } = source;
    this.#s = s;
    this.#source = source;
    this.#outTypes = exprs.map((e) => exprType(e, dtypes));
    this.#unroll = isLight(exprs) || isLongChain(exprs) ? 4 : 1;
    if (mayFail(exprs, dtypes)) s.fault = s.f.local("i32x4");
  }

  /** Ends the function: returns whether there was an element without a result. */
  end(): void {
    const { f, fault } = this.#s;
    if (fault !== null) f.if(i32.anyTrue(fault), () => f.store8(FAULT, 1));
  }

  /**
   * Writes whole blocks, whose ends may be overrun by up to 64 bytes. Parameters: outputs, inputs, number of elements.
   */
  flat(p: readonly Local<"i32">[]): void {
    const [n] = p.slice(-1), outs = p.slice(0, this.#outTypes.length);
    const ins = p.slice(outs.length, -1);
    // Values past the end are arbitrary: dividing by them must not be reported.
    if (this.#s.fault !== null) this.exact(outs, ins, n);
    else this.#loop(outs, new SourceRow(this.#s, this.#source, ins), n, this.#unroll);
  }

  /**
   * Writes all rows. Parameters: outputs, inputs, extents, then for each input its strides in bytes along the outer
   * axes.
   */
  nest(p: readonly Local<"i32">[], strides: Walk["strides"], rank: number): void {
    const { f } = this.#s, outs = this.#outTypes.length, ins = strides.length;
    const [dims, steps] = [p.slice(outs + ins), p.slice(outs + ins + rank)];
    const level = (axis: number, at: readonly Local<"i32">[]): void => {
      if (axis === rank - 1) return this.exact(p.slice(0, outs), at, dims[axis]);
      const here = at.map((x, k) => (strides[k][axis] === 0 ? x : f.variable("i32", x)));
      f.times(dims[axis], () => {
        level(axis + 1, here);
        here.forEach((x, k) => {
          if (strides[k][axis] !== 0) f.advance(x, steps[k * (rank - 1) + axis]);
        });
      });
    };
    level(0, p.slice(outs, outs + ins));
  }

  /** Writes exactly `n` elements. Advances the outputs, not the inputs. */
  exact(outs: readonly Local<"i32">[], ins: readonly Local<"i32">[], n: Local<"i32">): void {
    const { f } = this.#s, { moves } = this.#source, unroll = this.#unroll;
    const at = ins.map((x, k) => (moves[k] ? f.variable("i32", x) : x));
    const row = new SourceRow(this.#s, this.#source, at);
    if (unroll > 1) this.#loop(outs, row, i32.and(n, -4 * unroll), unroll);
    this.#loop(outs, row, i32.and(n, unroll > 1 ? 4 * unroll - 4 : -4), 1);
    this.#rest(outs, n, () => row.load(1));
  }

  /** Writes the elements beyond whole vectors of `n`. */
  #rest(
    outs: readonly Local<"i32">[],
    n: Value<"i32">,
    load: () => (readonly Lanes[])[],
  ): void {
    const { f, fault } = this.#s;
    const left = f.variable("i32", i32.and(n, 3));
    f.if(left, () => {
      const before = fault && f.variable("i32x4", fault);
      load().forEach(([r], k) => storePart(f, this.#outTypes[k], outs[k], r, left));
      if (fault === null) return;
      const within = i32x4.lt(laneNumbers(f), i32x4.splat(i32.and(n, 3)));
      f.set(fault, i32x4.or(before!, i32x4.and(fault, within)));
    });
  }

  /**
   * Writes rows four at a time. Parameters: outputs, inputs (constant ones repeated four times), rows, their length,
   * patterns.
   */
  fours(p: readonly Local<"i32">[], along: readonly Along[]): void {
    const { f } = this.#s, { exprs, dtypes } = this.#source;
    const outs = p.slice(0, exprs.length), ins = p.slice(outs.length, -3);
    const [rows, length, patterns] = p.slice(-3);
    const still = ins.map((at, k) => along[k] === "still" ? loadSplat(f, dtypes[k], at) : null);
    const bytes = dtypes.map((t) => DTYPES[t].bytes);
    /** Offset of a vector's pattern: four times the number of its first element. */
    const offset = f.local("i32");
    const loadOne = (k: number, at: Value<"i32">): Lanes => loadGroup(f, dtypes[k], at, 1)[0];
    const load = (columns: readonly (Lanes | null)[]): (readonly Lanes[])[] => {
      const args = ins.map((at, k) => {
        const column = columns[k];
        if (column) {
          const lanes = i8x16.swizzle(
            i8x16.ofBits(column),
            i8x16.load(i32.add(patterns, offset)),
          );
          return f.let(column.type === "f32x4" ? f32x4.ofBits(lanes) : i32x4.ofBits(lanes));
        }
        if (along[k] !== "row") return still[k] ?? loadOne(k, at);
        return loadOne(k, i32.add(at, i32.shrU(offset, 2 - Math.log2(bytes[k]))));
      });
      return printSimdGroup(this.#s, exprs, dtypes, args.map((a) => [a]), 1);
    };
    const vectors = (count: Value<"i32">): (Lanes | null)[] => {
      const columns = ins.map((at, k) => (along[k] === "column" ? loadOne(k, at) : null));
      const end = f.let(i32.shl(i32.and(count, -4), 2));
      f.set(offset, 0);
      f.until(offset, end, 16, () => {
        this.#store(outs, load(columns));
        along.forEach((a, k) => a === "whole" && f.advance(ins[k], 4 * bytes[k]));
      });
      return columns;
    };
    f.countDown(rows, 4, () => {
      vectors(i32.shl(length, 2));
      along.forEach((a, k) => a === "column" && f.advance(ins[k], 4 * bytes[k]));
    });
    f.if(rows, () => {
      const count = f.let(i32.mul(rows, length)), columns = vectors(count);
      this.#rest(outs, count, () => load(columns));
    });
  }

  /** Stores whole vectors and advances the outputs. */
  #store(outs: readonly Local<"i32">[], results: readonly (readonly Lanes[])[]): void {
    results.forEach((r, k) => {
      storeGroup(this.#s.f, this.#outTypes[k], outs[k], r);
      this.#s.f.advance(outs[k], 4 * r.length * DTYPES[this.#outTypes[k]].bytes);
    });
  }

  #loop(outs: readonly Local<"i32">[], row: SourceRow, n: Value<"i32">, unroll: number): void {
    const { f } = this.#s;
    const end = f.let(i32.add(outs[0], i32.mul(n, DTYPES[this.#outTypes[0]].bytes)));
    f.while(i32.ltU(outs[0], end), () => {
      this.#store(outs, row.load(unroll));
      row.advance(4 * unroll);
    });
  }
}
