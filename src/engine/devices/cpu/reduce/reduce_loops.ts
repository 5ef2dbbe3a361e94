/** The loops of reductions: rows into one accumulator each, columns into one each, short rows four at a time. */
import { isLight, simdWeight } from "../pointwise/lane_functions.ts";
import { type RowSource, SourceRow } from "../pointwise/source_row.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import { type F4, laneNumbers, type Simd } from "../wasm/simd.ts";
import { alongRows } from "../wasm/turned_rows.ts";
import type { Value } from "../wasm/value.ts";
import { highHalf, type Lane4, lowHalf, type Reducer } from "./reducer.ts";

type I = Local<"i32">;

/** Folds each row of `n` elements into one accumulator. */
export function writeRows<T extends Lane4, S extends Lane4 | "f64x2">(
  simd: Simd,
  r: Reducer<T, S>,
  source: RowSource,
  p: readonly I[],
): void {
  const { f } = simd, operands = source.dtypes.length;
  const starts = p.slice(0, operands), steps = p.slice(operands + 4);
  const [m, n, acc, accStep] = p.slice(operands, operands + 4);
  const at = starts.map(() => f.local("i32"));
  const left = f.local("i32"), again = f.local("i32");
  const run = isLight(source.exprs) ? r.run : Math.min(r.run, 1);
  const width = run > 1 ? 4 : 1;
  const state = f.local(r.state), bad = f.local("i32x4");
  const sums = Array.from({ length: width }, () => f.local(r.type));
  const identity = f.constant(r.type, r.identity);
  const tail = f.let(i32.and(n, 3));
  const lanes = f.let(laneNumbers(f));
  const mask = f.let(i32x4.lt(lanes, i32x4.splat(tail)));
  const watch = (v: Value<T>): Value<T> => {
    if (r.watchesNaN) f.set(bad, i32x4.or(bad, f32x4.ne(v as unknown as F4, v as unknown as F4)));
    return v;
  };
  const both = (a: Value<T>, b: Value<T>): Value<T> => f.let(r.quick(a, b));
  const take = (v: Value<T>): void => f.set(state, r.take(state, v));
  f.countDown(m, 1, () => {
    starts.forEach((x, k) => f.set(at[k], x));
    const row = new SourceRow(simd, source, at);
    const load = (count: number): Value<T>[] => row.load(count)[0] as Value<T>[];
    const next = (vectors: number): void => {
      row.advance(4 * vectors);
      f.advance(left, -4 * vectors);
    };
    f.set(left, n);
    f.set(state, f.constant(r.state, r.identity));
    if (r.watchesNaN) f.set(bad, f.constant("i32x4", 0));
    f.while(i32.ge(left, 4 * width), () => {
      load(width).forEach((v, u) => f.set(sums[u], v));
      sums.forEach(watch);
      next(width);
      if (run > 1) {
        f.set(again, run - 1);
        f.while(i32.and(i32.gt(again, 0), i32.ge(left, 4 * width)), () => {
          load(width).forEach((v, u) => f.set(sums[u], r.quick(sums[u], watch(f.let(v)))));
          next(width);
          f.advance(again, -1);
        });
      }
      take(width === 1 ? sums[0] : both(both(sums[0], sums[1]), both(sums[2], sums[3])));
    });
    if (width > 1) {
      f.while(i32.ge(left, 4), () => {
        take(f.let(load(1)[0]));
        next(1);
      });
    }
    f.if(tail, () => take(f.let(r.table.select(load(1)[0], identity, mask))));
    if (r.watchesNaN) f.if(i32.anyTrue(bad), () => f.set(state, f.constant(r.state, NaN)));
    r.keep(f, acc, state);
    f.advance(acc, accStep);
    starts.forEach((x, k) => f.advance(x, steps[k]));
  });
}

/** Instructions above which expressions are unrolled as little as possible. */
const HEAVY = 60;

/**
 * Returns the number of rows that are combined before they are folded; pointers of more would not stay in registers.
 */
function rowsAtOnce(r: Reducer, source: RowSource): number {
  if (r.run === 0 || simdWeight(source.exprs) > HEAVY) return 1;
  return isLight(source.exprs) && source.dtypes.length <= 2 ? 8 : 4;
}

/** Folds `m` rows into `n` accumulators. */
export function writeColumns<T extends Lane4, S extends Lane4 | "f64x2">(
  simd: Simd,
  r: Reducer<T, S>,
  source: RowSource,
  p: readonly I[],
): void {
  const { f } = simd, operands = source.dtypes.length;
  const starts = p.slice(0, operands), steps = p.slice(operands + 3);
  const [m, n, acc] = p.slice(operands, operands + 3);
  const left = f.local("i32"), to = f.local("i32");
  const joined = (values: readonly Value<T>[]): Value<T> => {
    if (values.length === 1) return values[0];
    return joined(values.flatMap((v, i) => (i % 2 ? [] : [f.let(r.quick(v, values[i + 1]))])));
  };
  const join = (values: readonly Value<T>[]): Value<T> => {
    if (!r.watchesNaN || values.length === 1) return joined(values);
    const floats = values as unknown as readonly F4[];
    const bad = floats.slice(1).reduce(
      (b, v) => i32x4.or(b, f32x4.ne(v, v)),
      f32x4.ne(floats[0], floats[0]),
    );
    return f.let(r.table.select(f.constant(r.type, NaN), joined(values), bad));
  };
  const pass = (count: number): void => {
    const at = Array.from({ length: count }, () => starts.map(() => f.local("i32")));
    at.forEach((row, i) =>
      row.forEach((x, k) => f.set(x, i === 0 ? starts[k] : i32.add(at[i - 1][k], steps[k])))
    );
    const rows = at.map((pointers) => new SourceRow(simd, source, pointers));
    f.set(to, acc);
    f.set(left, n);
    const next = (): Value<T> => join(rows.map((row) => f.let(row.load(1)[0][0] as Value<T>)));
    f.while(i32.ge(left, 4), () => {
      r.fold(f, to, next());
      rows.forEach((row) => row.advance(4));
      f.advance(to, 4 * r.bytes);
      f.advance(left, -4);
    });
    f.if(left, () => r.foldPart(f, to, next(), left));
    starts.forEach((x, k) => f.advance(x, i32.mul(steps[k], count)));
    f.advance(m, -count);
  };
  const most = rowsAtOnce(r as unknown as Reducer, source);
  if (most > 1) f.while(i32.ge(m, most), () => pass(most));
  if (most > 4) f.while(i32.ge(m, 2), () => pass(2));
  f.while(i32.gt(m, 0), () => pass(1));
}

/** Folds `m` rows of `n` elements, a multiple of four, into accumulators of their own: each row in a lane. */
export function writeNarrow(
  { f }: Simd,
  r: Reducer,
  [x, step, m, n, acc]: readonly I[],
): void {
  const rows = [0, 1, 2, 3].map(() => f.local("i32")), state = f.local(r.type);
  // Where nothing is combined in the elements' own type, two lanes each are in float64.
  const halves = r.wide && r.run === 0 ? [f.local("f64x2"), f.local("f64x2")] : [];
  const take = (v: Value<typeof r.type>): void => {
    if (halves.length === 0) return f.set(state, both(state, v));
    [lowHalf, highHalf].forEach((half, h) => f.set(halves[h], r.wide!(halves[h], half(v as F4))));
  };
  const both = (a: Value<typeof r.type>, b: Value<typeof r.type>): Value<typeof r.type> =>
    f.let(r.wide ? r.quick(a, b) : r.take(a, b) as Value<typeof r.type>);
  f.countDown(m, 4, () => {
    rows.forEach((p, k) => f.set(p, k === 0 ? x : i32.add(rows[k - 1], step)));
    f.set(state, f.constant(r.type, r.identity));
    halves.forEach((half) => f.set(half, f.constant("f64x2", r.identity)));
    const bits = (v: F4): Value<typeof r.type> => r.table.ofBits(v);
    alongRows(f, {
      rows,
      n,
      four: (columns) => {
        const [a, b, c, d] = columns.map(bits);
        if (halves.length > 0) [a, b, c, d].forEach(take);
        else take(both(both(a, b), both(c, d)));
      },
      one: (column) => take(bits(column)),
    });
    if (halves.length === 0) r.fold(f, acc, state);
    halves.forEach((half, h) => f.store(acc, r.wide!(f64x2.load(acc, 16 * h), half), 16 * h));
    f.advance(x, i32.shl(step, 2));
    f.advance(acc, 4 * r.bytes);
  });
}
