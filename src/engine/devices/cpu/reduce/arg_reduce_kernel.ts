/**
 * The loops that search greatest and least elements: along rows, along four short rows at once, down columns. Most
 * elements are compared for their values alone; indices are searched in the few blocks that improve on all before.
 */
import type { DType } from "../../../core/dtype.ts";
import type { ArgOp } from "../../../core/meaning.ts";
import { type Engine, type WasmExports, words } from "../engine.ts";
import type { FunctionBuilder, FunctionRef, Local } from "../wasm/function_builder.ts";
import { f32, f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { type F4, type I4, laneNumbers } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import { alongRows } from "../wasm/turned_rows.ts";
import type { Value } from "../wasm/value.ts";
import { type Lane4, type Reducer, REDUCERS } from "./reducer.ts";

type I = Local<"i32">;

/** Elements of a row whose best is found before it is compared with that of all before. */
const BLOCK = 128;
/** Columns whose best elements are kept in memory. */
export const COLUMNS = 1024;
const ROWS = 8;

/** The order of a search: reductions that combine elements, and the test for a better one, ignoring NaN. */
interface Order<T extends Lane4 = Lane4> extends Reducer<T> {
  readonly isBetter: (v: Value<T>, found: Value<T>) => I4;
}

/** True where {@linkcode argModule} has code for these elements. */
export function hasArgModule(op: ArgOp, dtype: DType): boolean {
  return `${op} ${dtype}` in REDUCERS;
}

/**
 * Exports `rows(out, x, m, n)`, `narrow` alike, and `columns(x, outer, length, width, step, out, spare)`, where `step`
 * is from row to row.
 */
export function argModule(engine: Engine, op: ArgOp, dtype: DType): WasmExports {
  const reducer = REDUCERS[`${op} ${dtype}`];
  const order: Order = { ...reducer, isBetter: reducer.table[op === "max" ? "gt" : "lt"] };
  return engine.compile(`arg ${op} ${dtype}`, (m) => {
    const seek = m.function(null, ["i32", "i32", "i32"], "i32", (f, ...p) => {
      writeSeek(f, order, p);
    });
    m.function("rows", words(4), null, (f, ...p) => writeRows(f, order, p));
    m.function("narrow", words(4), null, (f, ...p) => writeNarrow(f, order, seek, p));
    m.function("columns", words(7), null, (f, ...p) => writeColumns(f, order, seek, p));
  });
}

/** `seek(x, step, count)`: returns the index of the first element that is the worst possible, else 0. */
type Seek = FunctionRef<readonly ["i32", "i32", "i32"], "i32">;

/** Without an element better than the worst, the worst may stand after NaN. */
function writeSeek(f: FunctionBuilder, { type, identity }: Order, [x, step, count]: I[]): void {
  f.times(count, (i) => {
    const isWorst = type === "f32x4"
      ? f32.eq(f32.load(x), identity)
      : i32.eq(i32.load(x), identity);
    f.if(isWorst, () => f.return(i));
    f.advance(x, step);
  });
  f.result(i32.const(0));
}

function writeRows<T extends Lane4>(
  f: FunctionBuilder,
  { type, table, identity, quick: best, isBetter }: Order<T>,
  [out, x, m, n]: readonly I[],
): void {
  const at = f.local("i32"), left = f.local("i32"), blockEnd = f.local("i32");
  // Beginnings of the current block and of the best so far: addresses, and elements left from there.
  const start = f.local("i32"), startLeft = f.local("i32");
  const place = f.local("i32"), placeLeft = f.local("i32");
  const top = f.local(type), found = [0, 1, 2, 3].map(() => f.local(type));
  const none = f.constant(type, identity), tail = f.let(i32.and(n, 3));
  const lanes = laneNumbers(f);
  const mask = f.let(i32x4.lt(lanes, i32x4.splat(tail)));
  const go = (vectors: number): void => {
    f.advance(at, 16 * vectors);
    f.advance(left, -4 * vectors);
  };
  const take = (vectors: number): void => {
    found.slice(0, vectors).forEach((b, u) => f.set(b, best(b, table.load(at, 16 * u))));
    go(vectors);
  };
  const both = (a: Value<T>, b: Value<T>): Value<T> => f.let(best(a, b));
  const block = (read: () => void): void => {
    f.set(start, at);
    f.set(startLeft, left);
    found.forEach((b) => f.set(b, none));
    read();
    const four = both(both(found[0], found[1]), both(found[2], found[3]));
    const two = both(four, table.shuffle(four, four, [2, 3, 0, 1]));
    const one = both(two, table.shuffle(two, two, [1, 0, 3, 2]));
    f.if(i32.anyTrue(isBetter(one, top)), () => {
      f.set(top, one);
      f.set(place, start);
      f.set(placeLeft, startLeft);
    });
  };
  f.countDown(m, 1, () => {
    f.set(at, x);
    f.set(left, n);
    f.set(top, none);
    f.set(place, x);
    f.set(placeLeft, n);
    f.while(i32.ge(left, BLOCK), () => {
      block(() => {
        f.set(blockEnd, i32.sub(left, BLOCK));
        f.while(i32.gt(left, blockEnd), () => take(4));
      });
    });
    f.if(left, () => {
      block(() => {
        f.while(i32.ge(left, 16), () => take(4));
        f.while(i32.ge(left, 4), () => take(1));
        f.if(tail, () => f.set(found[0], best(found[0], table.select(table.load(at), none, mask))));
      });
    });
    f.set(at, place);
    f.set(left, placeLeft);
    f.store(out, i32.const(0));
    f.block((leave) => {
      const hit = (equal: I4): void => {
        const same = f.let(equal);
        f.if(i32.anyTrue(same), () => {
          f.store(out, i32.add(i32.sub(n, left), i32.ctz(i32.bitmask(same))));
          leave();
        });
      };
      f.while(i32.ge(left, 4), () => {
        hit(table.eq(table.load(at), top));
        go(1);
      });
      f.if(left, () => hit(i32x4.and(table.eq(table.load(at), top), mask)));
    });
    f.advance(x, i32.shl(n, 2));
    f.advance(out, 4);
  });
}

/** Tracks the best in four lanes, and its index; it takes vectors in order, each with its indices. */
function findIn<T extends Lane4>(f: FunctionBuilder, { type, isBetter, quick: best }: Order<T>) {
  const value = f.local(type), place = f.local("i32x4");
  const take = (v: Value<T>, at: I4): void => {
    const better = f.let(isBetter(v, value));
    f.set(place, i32x4.select(at, place, better));
    f.set(value, best(value, v));
  };
  return { value, place, take };
}

/** Processes four rows or more: the last four may repeat some. */
function writeNarrow<T extends Lane4>(
  f: FunctionBuilder,
  order: Order<T>,
  seek: Seek,
  [out, x, m, n]: readonly I[],
): void {
  const { table } = order, none = f.constant(order.type, order.identity);
  const found = findIn(f, order), place = f.local("i32x4"), bytes = f.let(i32.shl(n, 2));
  const rows = [0, 1, 2, 3].map(() => f.local("i32"));
  const one = f.constant("i32x4", 1);
  const take = (column: F4): void => {
    found.take(table.ofBits(column), place);
    f.set(place, i32x4.add(place, one));
  };
  f.while(i32.gt(m, 0), () => {
    f.if(i32.lt(m, 4), () => {
      const again = f.let(i32.sub(4, m));
      f.set(x, i32.sub(x, i32.mul(again, bytes)));
      f.set(out, i32.sub(out, i32.shl(again, 2)));
      f.set(m, 4);
    });
    rows.forEach((p, k) => f.set(p, k === 0 ? x : i32.add(rows[k - 1], bytes)));
    f.set(found.value, none);
    f.set(found.place, i32x4.const(0));
    f.set(place, i32x4.const(0));
    alongRows(f, { rows, n, four: (columns) => columns.forEach(take), one: take });
    f.store(out, found.place);
    const worst = f.let(table.eq(found.value, none));
    f.if(i32.anyTrue(worst), () => {
      f.times(4, (k) => {
        f.if(i32.and(i32.shrU(i32.bitmask(worst), k), 1), () => {
          const from = i32.add(x, i32.mul(k, bytes));
          f.store(i32.add(out, i32.shl(k, 2)), f.call(seek, from, 4, n));
        });
      });
    });
    f.advance(x, i32.shl(bytes, 2));
    f.advance(out, 16);
    f.advance(m, -4);
  });
}

/** Writes {@linkcode argModule}'s `columns`, which keeps the best of some columns in `spare`. */
function writeColumns<T extends Lane4>(
  f: FunctionBuilder,
  order: Order<T>,
  seek: Seek,
  [x, outer, length, width, step, out, spare]: readonly I[],
): void {
  const { table, quick: best, isBetter } = order, none = f.constant(order.type, order.identity);
  const columns = f.local("i32"), from = f.local("i32"), to = f.local("i32");
  const size = f.local("i32"), left = f.local("i32"), r = f.local("i32");
  const top = f.local("i32"), index = f.local("i32"), found = findIn(f, order);
  const begin = (): void => {
    f.set(top, spare);
    f.set(index, to);
    f.set(left, size);
  };
  const rows = Array.from({ length: ROWS }, () => f.local("i32"));
  /** Compares `vectors` vectors of each of these rows with the best so far. */
  const turn = (taken: readonly I[], vectors: number): void => {
    const each = Array.from({ length: vectors }, (_, u) => 16 * u);
    const better = each.map((offset) => {
      const old = f.let(table.load(top, offset));
      const tops = [old, old].map((v) => f.variable(order.type, v));
      taken.forEach((p, k) => f.set(tops[k % 2], best(tops[k % 2], table.load(p, offset))));
      return f.let(isBetter(f.let(best(tops[0], tops[1])), old));
    });
    f.if(i32.anyTrue(better.reduce((a, b) => i32x4.or(a, b))), () => {
      each.forEach((offset) => {
        f.set(found.value, table.load(top, offset));
        f.set(found.place, i32x4.load(index, offset));
        taken.forEach((p, k) =>
          found.take(f.let(table.load(p, offset)), i32x4.splat(i32.add(r, k)))
        );
        f.store(top, found.value, offset);
        if (vectors > 1) f.store(index, found.place, offset);
        else {
          f.if(i32.ge(left, 4), () => f.store(index, found.place), () => {
            storePart(f, index, f32x4.ofBits(found.place), left);
          });
        }
      });
    });
    [...taken, top, index].forEach((p) => f.advance(p, 16 * vectors));
    f.advance(left, -4 * vectors);
  };
  const pass = (count: number): void => {
    const taken = rows.slice(0, count);
    taken.forEach((p, k) => f.set(p, k === 0 ? from : i32.add(taken[k - 1], step)));
    begin();
    f.while(i32.ge(left, 8), () => turn(taken, 2));
    f.while(i32.gt(left, 0), () => turn(taken, 1));
    f.advance(from, i32.mul(step, count));
    f.advance(r, count);
  };
  f.countDown(outer, 1, () => {
    f.fill(out, 0, i32.shl(width, 2));
    f.set(columns, 0);
    f.while(i32.lt(columns, width), () => {
      f.set(size, i32.sub(width, columns));
      f.if(i32.gt(size, COLUMNS), () => f.set(size, i32.const(COLUMNS)));
      f.set(from, i32.add(x, i32.shl(columns, 2)));
      f.set(to, i32.add(out, i32.shl(columns, 2)));
      begin();
      f.while(i32.gt(left, 0), () => {
        f.store(top, none);
        f.advance(top, 16);
        f.advance(left, -4);
      });
      f.set(r, 0);
      f.while(i32.le(r, i32.sub(length, ROWS)), () => pass(ROWS));
      f.while(i32.lt(r, length), () => pass(1));
      begin();
      f.set(from, i32.add(x, i32.shl(columns, 2)));
      f.while(i32.gt(left, 0), () => {
        const worst = f.let(table.eq(table.load(top), none));
        f.if(i32.anyTrue(worst), () => {
          f.times(4, (k) => {
            f.if(i32.and(i32.and(i32.shrU(i32.bitmask(worst), k), 1), i32.lt(k, left)), () => {
              const at = i32.shl(k, 2);
              f.store(i32.add(index, at), f.call(seek, i32.add(from, at), step, length));
            });
          });
        });
        [from, top, index].forEach((p) => f.advance(p, 16));
        f.advance(left, -4);
      });
      f.advance(columns, COLUMNS);
    });
    f.advance(x, i32.mul(length, step));
    f.advance(out, i32.shl(width, 2));
  });
}
