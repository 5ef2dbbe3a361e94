/**
 * Reductions along any axes: sum, mean, product, maximum, minimum, of float32 and int32; of an array, or of what an expression
 * makes of several. Results may go through a further expression.
 * May import core, kernels and this folder.
 */
import type { BufferRef } from "../../core/dispatch.ts";
import { DTYPES } from "../../core/dtype.ts";
import { argument } from "../../core/scalar.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { meaningOf } from "../../kernels/host_meaning.ts";
import type { ReduceOp } from "../../kernels/reduce_cpu.ts";
import { axesOf, type ReduceLayout, reduceLayout } from "../../kernels/reduce_layout.ts";
import { plainTask, type ReduceTask } from "../../kernels/reduce_task.ts";
import { evenBlocks, roundUp } from "./blocks.ts";
import type { Engine, WasmCall, WasmExports, WasmFunction } from "./engine.ts";
import type { FastPrepare, FastRun } from "./fast.ts";
import type { Pointer } from "./heap.ts";
import { preparePointwise, workOf } from "./pointwise.ts";
import { simdPrints } from "./print_simd.ts";
import {
  isLight,
  type Reducer,
  reducerModule,
  REDUCERS,
  type ReduceSource,
} from "./reduce_kernel.ts";
import { narrowRows } from "./reduce_narrow.ts";

/** Columns are reduced in blocks whose accumulators stay in the nearest cache. */
const BLOCK_COLUMNS = 2048;
/** Where there are fewer columns than this, several rows are taken as one. */
const NARROW = 16;
/** Elements that one call should take, where an expression makes calls small. */
const WORTH_CALL = 64;
/** Parts of a reduction, at most. */
const MOST_PARTS = 32;
/** Operations of a part whose results are folded: a constant, since sums must be the same for any threads. */
const FOLDED_WORK = 1e6;
/** Columns of a part, at least. */
const PART_COLUMNS = 128;

/** A reduction of float32 or int32; null for what it does not know. */
export function reduction(op: ReduceOp): FastPrepare {
  const task = plainTask(op);
  return (engine, problem) =>
    problem.hosts[1] === undefined ? null : prepareReduction(engine, task(problem));
}

/** A reduction with what comes before and after it. */
export const prepareFusedReduction: FastPrepare = (engine, problem, def) => {
  const task = problem.hosts[0] === undefined ? null : meaningOf(def)!.reduction!(problem);
  return task && prepareReduction(engine, task);
};

function prepareReduction(engine: Engine, task: ReduceTask): FastRun | null {
  const { prologue, epilogue, dtype, out } = task;
  const results = prepareResults(engine, task, epilogue !== null);
  if (results === null) return null;
  const inputs = prologue?.buffers.map(inputOf) ?? [0];
  if (!epilogue) {
    return ([o], ins) =>
      void results(o, inputs.length === 1 ? [ins[inputs[0]]] : inputs.map((i) => ins[i]));
  }
  const operands = epilogue.operands.map(({ dtype, per }): ConcreteSpec => ({
    dtype,
    shape: per === "all" ? [] : out.shape,
  }));
  const own = { dtype, shape: out.shape };
  const finish = preparePointwise(engine, [epilogue.expr], [own, ...operands], out.shape);
  const further = epilogue.operands.map((o) => inputOf(o.buffer));
  return finish && ((outs, ins) => {
    const r = results(0, inputs.map((i) => ins[i]));
    finish(outs, [r, ...further.map((i) => ins[i])]);
  });
}

function inputOf(ref: BufferRef): number {
  return (ref as { readonly input: number }).input;
}

/** Reduces operands, to `o` or to scratch memory; gives back where. */
type Results = (o: Pointer, operands: readonly Pointer[]) => Pointer;

function prepareResults(engine: Engine, task: ReduceTask, inScratch: boolean): Results | null {
  const { op, dtype, prologue } = task;
  const name = `${op === "mean" ? "sum" : op} ${dtype}`;
  const reducer = REDUCERS[name];
  const expr = prologue?.expr ?? argument(0);
  const operands = prologue?.operands ?? [{ dtype, shape: task.shape }];
  const dtypes = operands.map((o) => o.dtype);
  if (!reducer || (op === "mean" && dtype !== "float32") || !simdPrints([expr], dtypes)) {
    return null;
  }
  const axes = axesOf(task.axes, task.shape.length);
  const layout = reduceLayout(task.shape, axes, operands.map((o) => o.shape));
  const walk = new Walk(engine, name, reducer, { expr, dtypes, isPlain: !prologue }, layout);
  if (prologue && walk.calls > 1 && walk.callSize < WORTH_CALL) return null;
  const size = sizeOf(task.out.shape), wide = reducer.bytes === 8;
  const accBytes = wide ? roundUp(8 * size) : 0, spareBytes = walk.spareBytes(size);
  const bytes = accBytes + spareBytes + (inScratch ? roundUp(4 * size) : 0);
  const divisor = op === "mean" ? layout.count : 1;
  return (o, x) => {
    const scratch = engine.scratch(bytes);
    const target = inScratch ? scratch + accBytes + spareBytes : o;
    const acc = wide ? scratch : target;
    reducer.fill(engine.heap, acc, size);
    walk.run(x, acc, scratch + accBytes);
    if (wide) walk.settle(target, acc, size, divisor);
    return target;
  };
}

/** Rows of elements, and where their results are folded. */
interface Block {
  readonly x: readonly Pointer[];
  readonly m: number;
  readonly n: number;
  readonly acc: Pointer;
}

/** How a reduction goes through its operands: calls of one kernel, each for the two innermost groups of axes. */
class Walk {
  /** Calls that it takes. */
  readonly calls: number;
  /** Elements of each. */
  readonly callSize: number;
  readonly #engine: Engine;
  readonly #module: WasmExports;
  /** Folds four rows at a time. */
  readonly #narrow: WasmFunction | null;
  readonly #reducer: Reducer;
  readonly #isRows: boolean;
  readonly #m: number;
  readonly #n: number;
  /** Bytes of operands from row to row, and from element to element. */
  readonly #steps: readonly number[];
  readonly #widths: readonly number[];
  /** Bytes from one row's accumulator to the next: 0 where rows go into one. */
  readonly #accStep: number;
  /** Extents of the outer groups, and how far operands (in bytes) and results (in elements) move with each. */
  readonly #outer: readonly number[];
  readonly #outerSteps: readonly (readonly number[])[];
  readonly #resultSteps: readonly number[];
  /** Rows that are taken as one. */
  readonly #joined: number;
  /** Operations of a call, and in how many parts it is made. */
  readonly #work: number;
  readonly #parts: number;
  /** True: the parts have results of their own, which need no folding. */
  readonly #ownsResults: boolean;

  constructor(
    engine: Engine,
    name: string,
    reducer: Reducer,
    { expr, dtypes, isPlain }: Pick<ReduceSource, "expr" | "dtypes"> & { isPlain: boolean },
    { dims, reduced, strides }: ReduceLayout,
  ) {
    const last = dims.length - 1, isRows = reduced[last];
    const bytes = dtypes.map((t) => DTYPES[t].bytes);
    // Columns of a group that is kept are a group of their own.
    const taken = last > 0 && (isRows || reduced[last - 1]) ? 2 : 1;
    const n = dims[last], m = taken === 2 ? dims[last - 1] : 1;
    // One array is walked as it lies, whatever its extents.
    const moves = strides.map((s) => strides.length === 1 || s[last] !== 0);
    const keepsRows = isRows && taken === 2 && !reduced[last - 1];
    this.#engine = engine;
    this.#reducer = reducer;
    this.#module = reducerModule(engine, name, reducer, { expr, dtypes, moves });
    this.#narrow = isPlain && keepsRows ? narrowRows(engine, name, reducer, { m, n }) : null;
    this.#isRows = isRows;
    [this.#m, this.#n] = [m, n];
    this.#steps = strides.map((s, k) => (taken === 2 ? s[last - 1] * bytes[k] : 0));
    this.#widths = bytes.map((b, k) => (moves[k] ? b : 0));
    this.#accStep = keepsRows ? reducer.bytes : 0;
    this.#outer = dims.slice(0, dims.length - taken);
    this.#outerSteps = this.#outer.map((_, d) => strides.map((s, k) => s[d] * bytes[k]));
    this.#resultSteps = outerSteps(this.#outer, reduced, isRows ? (keepsRows ? m : 1) : n);
    this.calls = m === 0 || n === 0 ? 0 : sizeOf(this.#outer);
    this.callSize = m * n;
    const narrow = Math.floor(NARROW / n);
    const dense = this.#steps.every((step, k) => step === n * this.#widths[k]);
    this.#joined = !isRows && dense && isLight({ expr }) && narrow >= 2 && m >= 4 * narrow
      ? narrow
      : 1;
    this.#work = m * n * workOf([expr], dtypes.length);
    // Rows that are kept have results of their own, and so do columns that are many enough to be cut.
    this.#ownsResults = keepsRows || (!isRows && (m === 1 || n >= 4 * PART_COLUMNS));
    const least = this.#ownsResults ? engine.worthSharing / 4 : FOLDED_WORK;
    const most = Math.min(MOST_PARTS, Math.floor(this.#work / least));
    // Light columns wait for memory, which takes them best in whole rows.
    this.#parts = this.calls !== 1 || most < 4 || (!isRows && isLight({ expr })) ? 1 : most;
  }

  /** Rounds accumulators in float64. */
  settle(out: Pointer, acc: Pointer, size: number, divisor: number): void {
    this.#module.settle(out, acc, size, divisor);
  }

  /** Memory that {@linkcode run} needs beside the `size` accumulators. */
  spareBytes(size: number): number {
    const { bytes } = this.#reducer;
    const folded = this.#parts > 1 && !this.#ownsResults ? this.#parts * size : 0;
    return roundUp(bytes * Math.max(folded, NARROW));
  }

  /** Folds all elements into the accumulators. */
  run(x: readonly Pointer[], acc: Pointer, spare: Pointer): void {
    const block: Block = { x, m: this.#m, n: this.#n, acc };
    if (this.#parts > 1) return this.#runParts(block, spare);
    if (this.calls === 1) return this.#runBlock(block, spare);
    const here = [...x], index = new Array<number>(this.#outer.length).fill(0);
    for (let call = 0, at = 0; call < this.calls; call++) {
      this.#runBlock({ ...block, x: here, acc: acc + this.#reducer.bytes * at }, spare);
      for (let d = index.length - 1; d >= 0; d--) {
        const steps = this.#outerSteps[d], turns = ++index[d] < this.#outer[d] ? 1 : 1 - index[d];
        at += turns * this.#resultSteps[d];
        steps.forEach((step, k) => here[k] += turns * step);
        if (turns === 1) break;
        index[d] = 0;
      }
    }
  }

  /** Folds one block. */
  #runBlock(block: Block, spare: Pointer): void {
    const joined = this.#joined, { x, m, n, acc } = block;
    if (joined === 1) {
      for (const [run, args] of this.#callsOf(block)) run(...args);
      return;
    }
    const { heap } = this.#engine, whole = Math.floor(m / joined);
    this.#reducer.fill(heap, spare, n * joined);
    const steps = this.#steps.map((step) => step * joined);
    this.#module.columns(...x, whole, n * joined, spare, ...steps);
    this.#reducer.foldRows(heap, spare, joined, n, acc);
    const rest = x.map((p, k) => p + steps[k] * whole);
    this.#module.columns(...rest, m - whole * joined, n, acc, ...this.#steps);
  }

  /** Folds one large block in parts, which threads may share. */
  #runParts(block: Block, spare: Pointer): void {
    const { m, n, acc } = block, { bytes, fill, foldRows } = this.#reducer;
    const parts = this.#parts, { heap } = this.#engine;
    if (this.#ownsResults) {
      const cut = this.#isRows ? this.#cutRows : this.#cutColumns;
      return this.#share(cut.call(this, block, () => acc, bytes));
    }
    const results = this.#isRows ? 1 : n;
    const accOf = (part: number): Pointer => spare + part * results * bytes;
    fill(heap, spare, parts * results);
    const calls = this.#isRows && m === 1
      ? this.#cutColumns(block, accOf, 0)
      : this.#cutRows(block, accOf, 0);
    this.#share(calls);
    foldRows(heap, spare, parts, results, acc);
  }

  #share(calls: readonly WasmCall[]): void {
    this.#engine.callAll(calls, this.#work);
  }

  /** Runs of rows; their accumulators are `accStep` bytes apart. */
  #cutRows({ x, m, n }: Block, accOf: (part: number) => Pointer, accStep: number): WasmCall[] {
    return evenBlocks(m, Math.ceil(m / this.#parts), this.#narrow ? 4 : 1).flatMap((
      { from, size },
      part,
    ) =>
      this.#callsOf({
        x: x.map((p, k) => p + from * this.#steps[k]),
        m: size,
        n,
        acc: accOf(part) + from * accStep,
      })
    );
  }

  /** Runs of columns; their accumulators are `accStep` bytes apart. */
  #cutColumns({ x, m, n }: Block, accOf: (part: number) => Pointer, accStep: number): WasmCall[] {
    const most = Math.max(PART_COLUMNS, Math.ceil(n / this.#parts));
    return evenBlocks(n, most, 64).flatMap(({ from, size }, part) =>
      this.#callsOf({
        x: x.map((p, k) => p + from * this.#widths[k]),
        m,
        n: size,
        acc: accOf(part) + from * accStep,
      })
    );
  }

  /** The calls of a block. */
  #callsOf({ x, m, n, acc }: Block): WasmCall[] {
    const { rows, columns } = this.#module;
    if (this.#isRows) {
      const whole = this.#narrow ? m & -4 : 0, [step] = this.#steps;
      const rest = x.map((p) => p + whole * step), to = acc + whole * this.#accStep;
      const last: WasmCall = [rows, [...rest, m - whole, n, to, this.#accStep, ...this.#steps]];
      const calls: WasmCall[] = this.#narrow && whole
        ? [[this.#narrow, [...x, whole, n, acc]]]
        : [];
      return whole < m ? [...calls, last] : calls;
    }
    const calls: WasmCall[] = [];
    for (let j = 0; j < n; j += BLOCK_COLUMNS) {
      const at = x.map((p, k) => p + j * this.#widths[k]);
      const width = Math.min(BLOCK_COLUMNS, n - j);
      calls.push([columns, [...at, m, width, acc + j * this.#reducer.bytes, ...this.#steps]]);
    }
    return calls;
  }
}

/** How far the results move with each outer group: not at all with those that are reduced. */
function outerSteps(
  outer: readonly number[],
  reduced: readonly boolean[],
  results: number,
): number[] {
  const steps = new Array<number>(outer.length);
  for (let d = outer.length - 1, s = results; d >= 0; d--) {
    steps[d] = reduced[d] ? 0 : s;
    if (!reduced[d]) s *= outer[d];
  }
  return steps;
}
