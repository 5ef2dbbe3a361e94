/**
 * The vector code that samples an image at positions computed from rows and columns. Positions are computed in float64,
 * bitwise equal to the loops': the nearest pixel depends on it.
 */
import type { FillMode, Warp } from "../../../kernels/image/warp_geometry.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { I, Local } from "../wasm/function_builder.ts";
import { f32x4, f64, f64x2, i32, i32x4, i64x2 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { D2, F4, I4, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";

/** Variant of the sampling code. */
export type WarpKind = Pick<Warp, "interpolation" | "fillMode">;

/**
 * Numbers of a transform, in pairs, y before x: the contributions of a column, a row and a constant to the position;
 * those of a column and a row to its divisor, twice each; the row and the column to count from.
 */
export const NUMBERS = 12;
/** Bytes of them. */
export const TABLE: number = 8 * NUMBERS;

/** Operands of the code for a pixel; `extent` is height and width. */
type Images = Readonly<Record<"to" | "from" | "filling" | "depth" | "width" | "height", I>> & {
  readonly extent: D2;
};

/**
 * Writes rows of an image: `run(to, from, numbers, filling pixel, first row, end, columns, height, width, depth)`. The
 * filling pixel is followed by 16 bytes and then by zeros.
 */
export function pixelReader(engine: Engine, { interpolation, fillMode }: WarpKind): WasmFunction {
  return kernel(engine, `warp ${interpolation} ${fillMode}`, 10, (s, p) => {
    const [to, from, numbers, filling, row, end, columns, height, width, depth] = p;
    const { f } = s;
    const [perColumn, perRow, offset, bendColumn, bendRow, origin] = [0, 1, 2, 3, 4, 5]
      .map((i) => f.let(f64x2.load(numbers, 16 * i)));
    const both = (lane: number): D2 => f.let(f64x2.splat(f64x2.lane(origin, lane)));
    const [top, left] = [both(0), both(1)];
    const extent = f.let(f64x2.ofI32(i32x4.withLane(i32x4.splat(height), 1, width)));
    const images = { to, from, filling, extent, depth, width, height };
    const put = interpolation === "NEAREST" ? nearestPixel(s, images) : mixedPixel(s, images);
    const place = f.local("f64x2"), column = f.local("f64x2");
    f.until(row, end, 1, () => {
      const r = f.let(f64x2.sub(f64x2.splat(f64.ofI32(row)), top));
      const ofRow = f.let(f64x2.mul(perRow, r)), bend = f.let(f64x2.mul(bendRow, r));
      f.set(column, s.d(0));
      f.times(columns, () => {
        const c = f.let(f64x2.sub(column, left));
        f.set(place, f64x2.add(f64x2.add(f64x2.mul(perColumn, c), ofRow), offset));
        const divisor = f.let(f64x2.add(f64x2.add(f64x2.mul(bendColumn, c), bend), s.d(1)));
        f.if(f64.ne(f64x2.lane(divisor, 0), 1), () => f.set(place, f64x2.div(place, divisor)));
        foldPlace(s, place, extent, fillMode);
        // A zero divisor gives no position: somewhere beyond the edge.
        put(f.let(f64x2.select(place, s.d(-2), f64x2.ne(divisor, s.d(0)))));
        f.set(column, f64x2.add(column, s.d(1)));
      });
    });
  });
}

/** Folds a position into the image by the fill mode. */
function foldPlace(s: Simd, place: Local<"f64x2">, extent: D2, mode: FillMode): void {
  if (mode === "CONSTANT") return;
  const { f } = s, { add, sub, mul, div, trunc, neg, lt, gt, ge, select } = f64x2;
  const last = f.let(sub(extent, s.d(1)));
  const before = f.let(lt(place, s.d(0))), after = f.let(gt(place, last));
  f.if(i32.anyTrue(i32x4.ofBits(i64x2.or(before, after))), () => {
    if (mode !== "NEAREST") {
      const [low, high] = mode === "REFLECT" ? mirrored() : repeated();
      // An image of one pixel is neither.
      const wide = f.let(gt(extent, s.d(1)));
      f.set(place, select(low, place, f.let(i64x2.and(before, wide))));
      f.set(place, select(high, place, f.let(i64x2.and(after, wide))));
    }
    f.set(place, f64x2.max(s.d(0), f64x2.min(last, place)));
  });
  function mirrored(): [D2, D2] {
    const period = f.let(mul(extent, s.d(2)));
    const v = f.let(add(mul(period, trunc(div(neg(place), period))), place));
    const low = select(add(v, period), sub(neg(v), s.d(1)), lt(v, neg(extent)));
    const w = f.let(sub(place, mul(period, trunc(div(place, period)))));
    return [f.let(low), f.let(select(sub(sub(period, w), s.d(1)), w, ge(w, extent)))];
  }
  function repeated(): [D2, D2] {
    const turns = add(trunc(div(neg(place), last)), s.d(1));
    return [
      f.let(add(place, mul(extent, turns))),
      f.let(sub(place, mul(extent, trunc(div(place, last))))),
    ];
  }
}

/** Stores a pixel vector by vector: `load` computes each from the sources, which advance. */
function writePixel(
  s: Simd,
  { to, depth }: Images,
  { left, sources, load }: { left: I; sources: readonly I[]; load: () => F4 },
): void {
  const { f } = s;
  f.set(left, depth);
  f.countDown(left, 4, () => {
    f.store(to, load());
    f.advance(to, 16);
    sources.forEach((p) => f.advance(p, 16));
  });
  f.if(left, () => {
    storePart(f, to, f.let(load()), left);
    f.advance(to, i32.shl(left, 2));
  });
}

function nearestPixel(s: Simd, images: Images): (place: D2) => void {
  const { f } = s, { from, filling, extent, depth, width } = images;
  const [source, left] = f.locals("i32", 2);
  const pixelBytes = f.let(i32.shl(depth, 2));
  return (place) => {
    const at = f.let(f64x2.floor(f64x2.add(place, s.d(0.5))));
    const inside = i64x2.and(f64x2.ge(at, s.d(0)), f64x2.lt(at, extent));
    f.if(i32.allTrue(i32x4.ofBits(inside)), () => {
      const whole = f.let(i32x4.ofF64(at));
      const pixel = i32.add(i32.mul(i32x4.lane(whole, 0), width), i32x4.lane(whole, 1));
      f.set(source, i32.add(from, i32.mul(pixel, pixelBytes)));
    }, () => f.set(source, filling));
    writePixel(s, images, { left, sources: [source], load: () => f32x4.load(source) });
  };
}

/** Mixes the four pixels around the position. A pixel of weight zero is not read: it may be infinite. */
function mixedPixel(s: Simd, images: Images): (place: D2) => void {
  const { f } = s, { from, filling, depth, width, height } = images;
  const left = f.local("i32"), sources = f.locals("i32", 4);
  const all = (x: I): I4 => f.let(i32x4.splat(x));
  const [base, beyond, wide, high] = [from, filling, width, height].map(all);
  const pixelBytes = f.let(i32x4.splat(i32.shl(depth, 2)));
  const nothing = f.let(i32x4.add(i32x4.add(beyond, pixelBytes), s.i(16)));
  const [down, along] = [[0, 0, 1, 1], [0, 1, 0, 1]].map((steps) =>
    steps.reduce<I4>((v, x, i) => i32x4.withLane(v, i, x), s.i(0))
  ).map((v) => f.let(v));
  return (place) => {
    const corner = f.let(f64x2.floor(place)), far = f.let(f64x2.sub(place, corner));
    const near = f.let(f32x4.ofF64(f64x2.sub(s.d(1), far))), rest = f.let(f32x4.ofF64(far));
    const weights = f.let(f32x4.mul(
      f32x4.shuffle(near, rest, [0, 0, 4, 4]),
      f32x4.shuffle(near, rest, [1, 5, 1, 5]),
    ));
    const whole = f.let(i32x4.ofF64(corner));
    const y = f.let(i32x4.add(i32x4.shuffle(whole, whole, [0, 0, 0, 0]), down));
    const x = f.let(i32x4.add(i32x4.shuffle(whole, whole, [1, 1, 1, 1]), along));
    const inside = f.let(i32x4.and(i32x4.ltU(y, high), i32x4.ltU(x, wide)));
    const pixel = i32x4.mul(i32x4.add(i32x4.mul(y, wide), x), pixelBytes);
    const known = i32x4.select(i32x4.add(base, pixel), beyond, inside);
    const places = f.let(i32x4.select(known, nothing, f32x4.ne(weights, s.k(0))));
    sources.forEach((p, i) => f.set(p, i32x4.lane(places, i)));
    const splats = sources.map((_, i) => f.let(f32x4.shuffle(weights, weights, [i, i, i, i])));
    const load = (): F4 => {
      const [first, ...others] = sources.map((p): F4 => f32x4.load(p));
      const start: F4 = f32x4.mul(first, splats[0]);
      return others.reduce((sum, v, i) => s.madd(v, splats[i + 1], sum), start);
    };
    writePixel(s, images, { left, sources, load });
  };
}
