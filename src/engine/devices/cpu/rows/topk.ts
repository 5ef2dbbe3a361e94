/**
 * The greatest elements of rows. Short rows are ranked, and rows of which much is wanted are sorted; of others the
 * greatest so far are kept in a heap. Elements are compared as integers of the same order, four at a time with the
 * least in the heap; few pass it.
 */
import { sizeOf } from "../../../core/shape.ts";
import { isSortedWhole, PLACES } from "../../../kernels/host/topk.ts";
import { roundUp } from "../blocks.ts";
import { type Engine, type WasmFunction, words } from "../engine.ts";
import type { FastPrepare } from "../fast.ts";
import type { FunctionBuilder, FunctionRef, Local } from "../wasm/function_builder.ts";
import { f32x4, f64, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { type I4, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { isRanked, writeRank } from "./topk_rank.ts";
import { sortBytes, writeSort } from "./topk_sort.ts";
import { THRESHOLDS } from "../thresholds.ts";

type I = Local<"i32">;

/** Work of an element, in floating point operations. */
const WORK = 20;
/** Elements that are compared in a turn. */
const TURN = 16;

export const prepareTopK: FastPrepare = (
  engine,
  { inputs: [{ dtype, shape }], outputs: [out, at] },
) => {
  const n = shape[shape.length - 1], k = out.shape[out.shape.length - 1];
  const known = (dtype === "float32" || dtype === "int32") && at.dtype === "int32";
  if (!known || n > PLACES) return null;
  if (sizeOf(out.shape) === 0) return () => {};
  const isFloat = dtype === "float32", m = sizeOf(shape) / n;
  const [run, room] = isRanked(n, k)
    ? [rowsRun(engine, "rank", isFloat), roundUp(4 * n)]
    : n >= THRESHOLDS.sortedRow && isSortedWhole(n, k)
    ? [rowsRun(engine, "sort", isFloat), sortBytes(n)]
    : [topKRun(engine, isFloat), roundUp(4 * TURN + 8 * k)];
  return ([values, places], [x]) => {
    engine.inParts(run, { count: m, work: WORK * m * n, room }, (from, size, spare) => {
      const to = 4 * k * from;
      return [x + 4 * n * from, size, n, k, values + to, places + to, spare];
    });
  };
};

function topKRun(engine: Engine, isFloat: boolean): WasmFunction {
  return engine.compile(`topk ${isFloat}`, (m) => {
    const sink = m.function(null, ["i32", "i32", "i32"], null, (f, ...p) => writeSink(f, p));
    m.function("run", words(7), null, (f, ...p) => writeTopK(f, keysOf(f, isFloat), sink, p));
  }).run;
}

/** Makes the kernel that orders each row. */
function rowsRun(engine: Engine, how: "rank" | "sort", isFloat: boolean): WasmFunction {
  const write = how === "rank" ? writeRank : writeSort;
  return kernel(engine, `topk ${how} ${isFloat}`, 7, ({ f }, p) => {
    write(f, keysOf(f, isFloat), p);
  });
}

/** Converts elements to integers of the same order; NaN is the least, and both zeros are equal. */
function keysOf(f: FunctionBuilder, isFloat: boolean): (bits: I4) => I4 {
  if (!isFloat) return (bits) => bits;
  const s = new Simd(f, false);
  return (bits) => {
    const v = f.let(f32x4.add(f32x4.ofBits(bits), s.k(0))), own = i32x4.ofBits(v);
    const key = i32x4.xor(own, i32x4.and(i32x4.shr(own, 31), s.i(0x7fffffff)));
    return f.let(i32x4.select(s.i(-2147483648), key, f32x4.ne(v, v)));
  };
}

/** `sink(heap, i, end)`: sinks element `i` of a heap, whose least is the first, to its place. */
type Sink = FunctionRef<readonly ["i32", "i32", "i32"], null>;

function writeSink(f: FunctionBuilder, [heap, i, end]: readonly I[]): void {
  const at = (index: Value<"i32">): Value<"i32"> => i32.add(heap, i32.shl(index, 3));
  const item = f.variable("f64", f64.load(at(i)));
  const child = f.local("i32"), place = f.local("i32");
  f.block((leave) => {
    f.while(i32.lt(i32.add(i32.shl(i, 1), 1), end), () => {
      f.set(child, i32.add(i32.shl(i, 1), 1));
      f.set(place, at(child));
      const second = i32.lt(i32.add(child, 1), end);
      f.advance(child, i32.and(second, f64.lt(f64.load(place, 8), f64.load(place))));
      f.set(place, at(child));
      f.if(i32.eqz(f64.lt(f64.load(place), item)), leave);
      f.store(at(i), f64.load(place));
      f.set(i, child);
    });
  });
  f.store(at(i), item);
}

/** Parameters: from, rows, their length, number wanted, values, indices, room for a turn and a heap. */
function writeTopK(
  f: FunctionBuilder,
  keysOf: (v: I4) => I4,
  sink: Sink,
  [x, rows, n, k, values, places, spare]: readonly I[],
): void {
  const heap = f.let(i32.add(spare, 4 * TURN)), i = f.local("i32"), end = f.local("i32");
  const least = f.local("i32"), leasts = f.local("i32x4"), key = f.local("i32");
  const root = f.local("f64"), high = f.local("f64");
  const element = (): Value<"i32"> => i32.add(x, i32.shl(i, 2));
  /** Combines a key and its index, counted down: of equal keys the first is the greater. */
  const number = (place: Value<"i32">): Value<"f64"> =>
    f64.add(f64.mul(f64.ofI32(key), PLACES), f64.ofI32(i32.sub(PLACES - 1, place)));
  const open = (): void => {
    f.set(root, f64.load(heap));
    f.set(high, f64.floor(f64.div(root, PLACES)));
  };
  const look = (): void => {
    open();
    f.set(least, i32.ofF64(high));
    f.set(leasts, i32x4.splat(least));
  };
  const offer = (place: Value<"i32">): void =>
    f.if(i32.gt(key, least), () => {
      f.store(heap, number(place));
      f.run(sink, heap, 0, k);
      look();
    });
  const one = (): void => f.set(key, i32x4.lane(keysOf(i32x4.loadSplat(element())), 0));
  f.countDown(rows, 1, () => {
    f.set(i, 0);
    f.until(i, k, 1, () => {
      one();
      f.store(i32.add(heap, i32.shl(i, 3)), number(i));
    });
    f.set(end, i32.shrU(k, 1));
    f.while(end, () => {
      f.advance(end, -1);
      f.run(sink, heap, end, k);
    });
    look();
    f.while(i32.le(i, i32.sub(n, TURN)), () => {
      const keys = [0, 16, 32, 48].map((o) => f.let(keysOf(f.let(i32x4.load(element(), o)))));
      const better = keys.map((v) => i32x4.gt(v, leasts)).reduce((a, b) => i32x4.or(a, b));
      f.if(i32.anyTrue(better), () => {
        keys.forEach((v, u) => f.store(spare, v, 16 * u));
        f.times(TURN, (lane) => {
          f.set(key, i32.load(i32.add(spare, i32.shl(lane, 2))));
          offer(i32.add(i, lane));
        });
      });
      f.advance(i, TURN);
    });
    f.until(i, n, 1, () => {
      one();
      offer(i);
    });
    f.set(end, k);
    f.while(end, () => {
      f.advance(end, -1);
      open();
      f.set(i, i32.sub(PLACES - 1, i32.ofF64(f64.sub(root, f64.mul(high, PLACES)))));
      f.store(i32.add(places, i32.shl(end, 2)), i);
      f.store(i32.add(values, i32.shl(end, 2)), i32.load(element()));
      f.store(heap, f64.load(i32.add(heap, i32.shl(end, 3))));
      f.run(sink, heap, 0, end);
    });
    f.advance(x, i32.shl(n, 2));
    [values, places].forEach((p) => f.advance(p, i32.shl(k, 2)));
  });
}
