/**
 * The code of poolings that fold rows into one, and then places of that row.
 */
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";

type I = Local<"i32">;

/** Widest first: vectors that are folded together. */
const WIDTHS = [8, 4, 2, 1] as const;

/** Numbers that a row of results has in the table: where its first tap is, taps down and deep, what sums are divided by, and where its weights are. */
export const ROW_ENTRY = 5;
/** Numbers of a run: groups of floats, floats of each, where the first tap is, taps, and what sums are divided by. */
export const RUN_ENTRY = 5;

/** What the code depends on. */
export interface FoldCode {
  /** The greatest; means; sums of what is divided before; sums of what is weighted before. */
  readonly kind: "max" | "average" | "shares" | "weighted";
  /** Channels and taps where a place is less than a vector, and its taps are written out. */
  readonly thin: { readonly channels: number; readonly taps: number } | null;
}

/**
 * Parameters: to, from, rows, runs, folded row, images, rows of the result, runs of a row, floats of a folded row, bytes of an image,
 * from plane to plane of taps, from row to row, from column to column, and from place to place; the bytes of the weights of a plane,
 * where the weights of rows are, and where those of the floats of a folded row.
 */
export function writeFolds(
  s: Simd,
  [to, from, rows, runs, folded, images, height, runCount, floats, imageBytes, ...steps]:
    readonly I[],
  { kind, thin }: FoldCode,
): void {
  const { f } = s;
  const [zStep, yStep, xStep, placeStep, planeWeights, rowWeights, weights] = steps;
  const weighted = kind === "weighted";
  const zCount = f.local("i32"), yCount = f.local("i32"), ofRow = f.local("f32x4");
  const row = f.local("i32"), start = f.local("i32"), out = f.variable("i32", to);
  const left = f.local("i32"), at = f.local("i32"), into = f.local("i32");
  const sums = Array.from({ length: WIDTHS[0] }, () => f.local("f32x4"));
  // NaN is passed over.
  const none = s.k(kind === "max" ? -Infinity : 0);
  const fold = (a: F4, b: F4): F4 => kind === "max" ? f32x4.pmax(a, b) : f32x4.add(a, b);

  const clear = (width: number): void => sums.slice(0, width).forEach((v) => f.set(v, none));
  const take = (width: number, from: I, weight?: F4): void =>
    sums.slice(0, width).forEach((v, u) => {
      const here = f32x4.load(from, 16 * u);
      f.set(v, weight ? s.madd(here, weight, v) : fold(v, here));
    });
  /** Folds so many vectors, as long as there are as many. */
  const walk = (width: number, once: () => void, step: () => void): void =>
    f.countDown(left, 4 * width, () => {
      once();
      f.advance(at, 16 * width);
      step();
    });

  const p = f.local("i32"), q = f.local("i32"), n = f.local("i32"), k = f.local("i32");
  const plane = f.local("i32"), weight = f.local("i32"), own = f.local("i32");
  const down = (width: number): void => {
    clear(width);
    f.set(q, at);
    f.set(k, zCount);
    if (weighted) f.set(plane, i32.add(rowWeights, i32.load(row, 16)));
    f.while(k, () => {
      f.set(p, q);
      f.set(n, yCount);
      if (weighted) f.set(weight, plane);
      f.while(n, () => {
        take(width, p, weighted ? f.let(f32x4.loadSplat(weight)) : undefined);
        f.advance(p, yStep);
        f.advance(n, -1);
        if (weighted) f.advance(weight, 4);
      });
      f.advance(q, zStep);
      f.advance(k, -1);
      if (weighted) f.advance(plane, planeWeights);
    });
    sums.slice(0, width).forEach((v, u) => {
      const share = weighted
        ? f32x4.mul(v, f32x4.load(own, 16 * u))
        : kind === "shares"
        ? f32x4.div(v, ofRow)
        : v;
      f.store(into, share, 16 * u);
    });
    f.advance(into, 16 * width);
    if (weighted) f.advance(own, 16 * width);
  };

  f.times(images, () => {
    f.set(row, rows);
    f.times(height, () => {
      f.set(zCount, i32.load(row, 4));
      f.set(yCount, i32.load(row, 8));
      f.set(ofRow, f32x4.ofI32(i32x4.loadSplat(row, 12)));
      f.set(at, i32.add(from, i32.load(row)));
      f.set(into, folded);
      if (weighted) f.set(own, weights);
      f.set(left, i32.and(i32.add(floats, 3), -4));
      for (const width of WIDTHS) walk(width, () => down(width), () => {});
      const run = f.variable("i32", runs);
      f.times(runCount, () => {
        const taps = f.let(i32.load(run, 12));
        const divisor = f.let(f32x4.mul(ofRow, f32x4.ofI32(i32x4.loadSplat(run, 16))));
        const finish = (v: F4): F4 => kind === "average" ? f.let(f32x4.div(v, divisor)) : v;
        f.set(start, i32.add(folded, i32.load(run, 8)));
        const across = (width: number, part: boolean): void => {
          clear(width);
          f.set(p, at);
          f.set(n, taps);
          f.while(n, () => {
            take(width, p);
            f.advance(p, xStep);
            f.advance(n, -1);
          });
          sums.slice(0, width).forEach((v, u) => {
            if (part) storePart(f, out, finish(v), left);
            else f.store(out, finish(v), 16 * u);
          });
        };
        const any = (): void => {
          f.set(at, start);
          f.set(left, i32.load(run, 4));
          for (const width of WIDTHS) {
            walk(width, () => across(width, false), () => f.advance(out, 16 * width));
          }
          f.if(left, () => {
            across(1, true);
            f.advance(out, i32.shl(left, 2));
          });
        };
        const few = ({ channels, taps: count }: NonNullable<FoldCode["thin"]>): void => {
          const columns = Array.from(
            { length: count },
            (_, k): F4 => f32x4.load(start, 4 * channels * k),
          );
          storePart(f, out, finish(f.let(columns.reduce(fold))), channels);
          f.advance(out, 4 * channels);
        };
        const places = (once: () => void): void =>
          f.times(i32.load(run), () => {
            once();
            f.advance(start, placeStep);
          });
        if (thin === null) places(any);
        else f.if(i32.eq(taps, thin.taps), () => places(() => few(thin)), () => places(any));
        f.advance(run, 4 * RUN_ENTRY);
      });
      f.advance(row, 4 * ROW_ENTRY);
    });
    f.advance(from, imageBytes);
  });
}
