/** Fourier transforms of rows in vector code. */
import type { FourierKernel, MeaningOf } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import { roundUp } from "../blocks.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { Blocks } from "./columns.ts";
import { halving, turnsOf } from "./halves.ts";
import type { Part } from "./lanes.ts";
import { isSmooth, partBytes, partsAt, tablesOf, type Wanted } from "./plans.ts";
import { SCALE_BYTES, writeScales } from "./scales.ts";
import { transformOf } from "./transforms.ts";

const isDouble = (dtype: string): boolean => dtype === "complex128" || dtype === "float64";

/** Prepares a transform; null for rows of three numbers or less, and for results of another precision. */
export function prepareFourier(
  engine: Engine,
  problem: Problem,
  { gives }: MeaningOf<"fourier">,
): FastRun | null {
  const { inputs: [x], outputs: [y], hosts } = problem;
  if (isDouble(x.dtype) !== isDouble(y.dtype)) return null;
  const part: Part = isDouble(x.dtype) ? "f64x2" : "f32x4";
  const rows = sizeOf(y.shape.slice(0, -1)), [given, made] = [x, y].map((s) => s.shape.at(-1)!);
  if (sizeOf(y.shape) === 0) return () => {};
  if (gives === "along") return columnsRun(engine, part, problem);
  if (gives === "fft" || gives === "ifft") {
    if (made < 2) return null;
    return complexRun(engine, part, { rows, length: made, isInverse: gives === "ifft" });
  }
  const length = Number(hosts[1]!.data[0]);
  if (!(length >= 4) || given === 0) return null;
  const real: Real = { gives, rows, length, given, made };
  return length % 2 === 0 ? evenRun(engine, part, real) : oddRun(engine, part, real);
}

/** Makes the kernel of a run that reads tables and uses work memory. */
function running(
  engine: Engine,
  tables: readonly Wanted[],
  room: number,
  run: (work: Pointer, tables: readonly Pointer[], to: Pointer, from: Pointer) => void,
): FastRun {
  const all = tablesOf(engine);
  return ([to], [from]) =>
    all.with(tables, (places) => engine.heap.lend(room, (work) => run(work, places, to, from)));
}

function complexRun(
  engine: Engine,
  part: Part,
  { rows, length, isInverse }: {
    readonly rows: number;
    readonly length: number;
    readonly isInverse: boolean;
  },
): FastRun {
  const { tables, room, run } = transformOf(engine, part, length, rows);
  const step = 2 * partBytes(part) * length, scale = isInverse ? 1 / length : 1;
  return running(engine, tables, room, (work, places, to, from) => {
    run(work, places, { to, from, rows, toStep: step, fromStep: step, isInverse, scale });
  });
}

/** Transforms along an axis that is not the last; null for lengths with great factors. */
function columnsRun(
  engine: Engine,
  part: Part,
  { inputs: [{ shape }], attrs }: Problem,
): FastRun | null {
  const axis = shape.length + (attrs.axis as number),
    n = shape[axis],
    sign = attrs.inverse ? -1 : 1;
  if (!isSmooth(n)) return null;
  const lanes = sizeOf(shape.slice(axis + 1)), count = sizeOf(shape.slice(0, axis));
  const number = 2 * partBytes(part), blocks = new Blocks(engine, part, n);
  const scale = attrs.inverse ? 1 / n : 1, steps = [number * lanes, number] as const;
  return running(
    engine,
    [blocks.stages.plan],
    SCALE_BYTES + blocks.room,
    (work, [plan], to, from) => {
      writeScales(engine, part, work, [sign, scale, sign * scale]);
      for (let i = 0, at = 0; i < count; i++, at += number * lanes * n) {
        const columns = { to: to + at, from: from + at, lanes, ofTo: steps, ofFrom: steps };
        blocks.run(work + SCALE_BYTES, plan, work, columns);
      }
    },
  );
}

/** Transforms between real rows and half spectra. */
interface Real {
  readonly gives: Exclude<FourierKernel, "fft" | "ifft" | "along">;
  readonly rows: number;
  /** Real numbers of a whole row. */
  readonly length: number;
  /** Real or complex numbers of a row that is read, and of one that is written. */
  readonly given: number;
  readonly made: number;
}

/** Rows whose transforms lie in work memory at once, where the tensors have others. */
const AT_ONCE = 16;

/** The factors of bins at the ends and of inner ones, as {@linkcode halving} takes them, and of the transform. */
function factorsOf({ gives, length }: Real): readonly [ends: number, inner: number, all: number] {
  switch (gives) {
    case "rfft":
      return [1, 0.5, 1];
    case "irfft":
      return [1, 1, 1 / length];
    case "rfft adjoint":
      return [1, 0.5, 1];
    case "irfft adjoint":
      return [1 / length, 1 / length, 1];
  }
}

/** Copies rows, cut or followed by zeros. */
function copyRows(
  { u8 }: { readonly u8: Uint8Array },
  [to, toStep, from, fromStep]: readonly number[],
  rows: number,
  bytes: number,
): void {
  for (let r = 0; r < rows; r++) {
    const start = from + r * fromStep, at = to + r * toStep;
    u8.copyWithin(at, start, start + Math.min(bytes, fromStep));
    if (bytes > fromStep) u8.fill(0, at + fromStep, at + bytes);
  }
}

function evenRun(engine: Engine, part: Part, real: Real): FastRun {
  const { gives, rows, length, given, made } = real, bytes = partBytes(part);
  const forward = gives === "rfft" || gives === "irfft adjoint", size = length / 2;
  const row = 2 * bytes * (size + 1), reals = bytes * length;
  const readBytes = (forward ? 1 : 2) * bytes * given, madeBytes = (forward ? 2 : 1) * bytes * made;
  const { tables, room, run } = transformOf(engine, part, size, rows);
  const change = halving(engine, part, forward ? "split" : "join");
  const [ends, inner, scale] = factorsOf(real), turns = turnsOf(part, length);
  // Where a row is as long as its tensor's, the tensor itself holds it.
  const reads = forward && readBytes >= reals, writes = madeBytes === (forward ? row : reals);
  const some = reads && writes ? rows : Math.min(rows, AT_ONCE);
  const held = roundUp(row) * some;
  return running(
    engine,
    [turns, ...tables],
    SCALE_BYTES + 2 * held + room,
    (work, all, to, from) => {
      const [ofTurns, ...ofTransform] = all, { heap } = engine;
      const source = work + SCALE_BYTES, target = source + held, rest = target + held;
      writeScales(engine, part, work, [ends, inner, 0]);
      for (let r = 0; r < rows; r += some) {
        const count = Math.min(some, rows - r);
        let x = from + r * readBytes, xStep = readBytes;
        const y = writes ? to + r * madeBytes : target,
          yStep = writes ? madeBytes : forward ? row : reals;
        if (!reads) {
          copyRows(heap, [source, row, x, xStep], count, forward ? reals : row);
          [x, xStep] = [source, row];
        }
        if (!forward) change(x, xStep, count, size, ofTurns, work);
        run(rest, ofTransform, {
          ...{ to: y, from: x, rows: count, toStep: yStep, fromStep: xStep },
          ...{ isInverse: !forward, scale },
        });
        if (forward) change(y, yStep, count, size, ofTurns, work);
        if (!writes) copyRows(heap, [to + r * madeBytes, madeBytes, y, yStep], count, madeBytes);
      }
    },
  );
}

/** Transforms of odd lengths: those of complex rows. */
function oddRun(engine: Engine, part: Part, real: Real): FastRun {
  const { gives, rows, length, given, made } = real, { heap } = engine;
  const forward = gives === "rfft" || gives === "irfft adjoint", row = 2 * partBytes(part) * length;
  const some = Math.min(rows, AT_ONCE), held = roundUp(row * some);
  const { tables, room, run } = transformOf(engine, part, length, some);
  const [ends, inner, scale] = factorsOf(real), bins = (length + 1) / 2;
  return running(engine, tables, 2 * held + room, (work, places, to, from) => {
    const result = work + held, rest = result + held;
    const parts = (at: Pointer, numbers: number): Parts =>
      partsAt(part, heap.memory.buffer, at, numbers);
    const x = parts(from, rows * given * (forward ? 1 : 2));
    const y = parts(to, rows * made * (forward ? 2 : 1));
    const a = parts(work, 2 * length * some), b = parts(result, 2 * length * some);
    for (let r = 0; r < rows; r += some) {
      const count = Math.min(some, rows - r);
      a.fill(0);
      for (let i = 0; i < count; i++) {
        const at = 2 * length * i, own = (r + i) * given;
        if (forward) putReals(a, at, x.subarray(own, own + Math.min(given, length)));
        else {putBins(a, at, x.subarray(2 * own, 2 * (own + Math.min(given, bins))), [
            length,
            inner,
          ]);}
      }
      run(rest, places, {
        ...{ to: result, from: work, rows: count, toStep: row, fromStep: row },
        ...{ isInverse: !forward, scale: forward ? ends : scale },
      });
      for (let i = 0; i < count; i++) {
        const all = b.subarray(2 * length * i, 2 * length * (i + 1)), own = (r + i) * made;
        if (forward) takeBins(y.subarray(2 * own, 2 * (own + made)), all, gives === "rfft" ? 1 : 2);
        else for (let k = 0; k < made; k++) y[own + k] = k < length ? all[2 * k] : 0;
      }
    }
  });
}

type Parts = Float32Array | Float64Array;

// Loops over a row are functions of their own: engines compile those that are called often.

/** Writes real numbers as complex ones. */
function putReals(to: Parts, at: number, x: Parts): void {
  for (let k = 0; k < x.length; k++) to[at + 2 * k] = x[k];
}

/** Writes bins, the inner ones times a factor, and their conjugates. The imaginary part of the first does not count. */
function putBins(
  to: Parts,
  at: number,
  x: Parts,
  [length, inner]: readonly [length: number, inner: number],
): void {
  to[at] = x[0];
  for (let k = 1; 2 * k < x.length; k++) {
    const p = at + 2 * k,
      q = at + 2 * (length - k),
      re = inner * x[2 * k],
      im = inner * x[2 * k + 1];
    to[p] = to[q] = re;
    to[p + 1] = im;
    to[q + 1] = -im;
  }
}

/** Writes the first half of a spectrum, the inner bins times a factor, and zeros after it. */
function takeBins(to: Parts, all: Parts, inner: number): void {
  const used = Math.min(to.length, all.length / 2 + 1);
  to[0] = all[0];
  to[1] = 0;
  for (let i = 2; i < used; i++) to[i] = inner * all[i];
  to.fill(0, used);
}
