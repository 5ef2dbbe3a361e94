/** Joining and splitting: copies of rows between a whole and its parts. */
import type { MeaningOf, RowParts } from "../../../core/meaning.ts";
import { DTYPES } from "../../../core/dtype.ts";
import type { Problem } from "../../../core/op.ts";
import { evenBlocks } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";

/** Bytes above which the engine's own copy is worth its call. */
const OWN_COPY = 128;
/** Several parts are copied in blocks of rows of so many bytes: the whole is walked once. */
const BLOCK = 1 << 16;
const LINE = 64;
/** Work of copying a byte, as the work of pointwise kernels is counted. */
const WORK = 2;

/** One part: its offset in each row of the whole, and its bytes of the row. */
type Run = Readonly<Record<"part" | "at" | "bytes", number>> & { readonly move: WasmFunction };

/** Prepares the kernel of an op that joins or splits. */
export function prepareExchange(
  engine: Engine,
  problem: Problem,
  { way, from, partsOf }: MeaningOf<"exchange">,
): FastRun {
  const { rows, widths } = asFewRows(partsOf(problem));
  const unit = DTYPES[(way === "join" ? problem.outputs[0] : problem.inputs[from]).dtype].bytes;
  const runs: Run[] = [];
  let rowBytes = 0;
  widths.forEach((width, part) => {
    const bytes = width * unit;
    if (bytes > 0) runs.push({ part, at: rowBytes, bytes, move: mover(engine, bytes) });
    rowBytes += bytes;
  });
  if (rows === 0 || runs.length === 0) return () => {};
  const block = runs.length > 1 ? Math.max(1, Math.floor(BLOCK / rowBytes)) : rows;
  const call = (whole: Pointer, part: Pointer, { bytes, move }: Run, count: number): WasmCall => [
    move,
    way === "join"
      ? [whole, part, bytes, count, rowBytes, bytes]
      : [part, whole, bytes, count, bytes, rowBytes],
  ];
  return (outs, ins) => {
    const whole = way === "join" ? outs[0] : ins[from], parts = way === "join" ? ins : outs;
    const rowCall = (run: Run, row: number, count: number): WasmCall =>
      call(whole + run.at + row * rowBytes, parts[run.part] + row * run.bytes, run, count);
    const shares = engine.parts(WORK * rows * rowBytes);
    if (shares === 1) {
      for (let row = 0; row < rows; row += block) {
        const count = Math.min(block, rows - row);
        for (const run of runs) {
          const [move, args] = rowCall(run, row, count);
          move(...args);
        }
      }
    } else if (rows > 1) {
      engine.callAll(
        evenBlocks(rows, Math.min(block, Math.ceil(rows / shares)), 1).flatMap(({ from, size }) =>
          runs.map((run) => rowCall(run, from, size))
        ),
      );
    } else {
      engine.callAll(
        runs.flatMap((run) =>
          evenBlocks(run.bytes, Math.ceil(rowBytes / shares), LINE).map(({ from, size }) =>
            call(whole + run.at + from, parts[run.part] + from, { ...run, bytes: size }, 1)
          )
        ),
      );
    }
  };
}

/** Makes a part that holds all of each row a single row. */
function asFewRows({ rows, widths }: RowParts): RowParts {
  return widths.filter((w) => w > 0).length === 1
    ? { rows: 1, widths: widths.map((w) => w * rows) }
    : { rows, widths };
}

/** `run(to, from, bytes, rows, toStep, fromStep)`: copies the same bytes of each row. */
function mover(engine: Engine, bytes: number): WasmFunction {
  const kind = bytes >= OWN_COPY ? "wide" : bytes === 4 || bytes === 8 ? bytes : "narrow";
  return kernel(engine, `copy columns ${kind}`, 6, ({ f }, p) => {
    const [to, from, bytes, rows, toStep, fromStep] = p;
    f.countDown(rows, 1, () => {
      if (kind === "wide") f.copy(to, from, bytes);
      else if (kind === 4) f.store(to, i32.load(from));
      else if (kind === 8) f.storeLane(to, i32x4.loadPair(from), 8, 0);
      else copyBytes(f, to, from, bytes);
      f.advance(to, toStep);
      f.advance(from, fromStep);
    });
  });
}

/** Copies few bytes. */
function copyBytes(f: FunctionBuilder, to: I, from: I, bytes: I): void {
  const at = f.variable("i32", 0);
  const source = i32.add(from, at), target = i32.add(to, at);
  const step = (size: number, copy: () => void): void => {
    f.until(at, f.let(i32.sub(bytes, size - 1)), size, copy);
  };
  step(16, () => f.store(target, i32x4.load(source)));
  step(4, () => f.store(target, i32.load(source)));
  step(1, () => f.store8(target, i32.load8u(source)));
}
