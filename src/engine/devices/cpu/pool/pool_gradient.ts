/**
 * Gradients of poolings over two and three axes by windows of few taps, which are unrolled: place by place, some
 * channels at a time. Channels last, float32.
 */
import type { WindowGeometry } from "../../../kernels/conv/geometry.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { I } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { type F4, type I4, laneNumbers, type Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";
import { cutRows, type PoolKind } from "./pool_parts.ts";
import { columnsOf, placesOf } from "./pool_rows.ts";
import { insideOf } from "./windows.ts";

/** Most taps that are unrolled, and of few channels. */
const MOST_TAPS = 9, MOST_TAPS_FEW = 27;
/** Work of one tap, in floating point operations. */
const WORK = 6;

/** Prepares the kernel, or returns null for other windows, and for averages over windows that overlap or overhang. */
export function prepareGradient(
  engine: Engine,
  g: WindowGeometry,
  kind: PoolKind,
): FastRun | null {
  const { axes, channels } = g, [z, y, x] = axes, taps = z.filter * y.filter * x.filter;
  const most = channels < 4 ? MOST_TAPS_FEW : MOST_TAPS;
  if (taps > most || axes.some((a) => a.dilation > 1)) return null;
  const counts = axes.map((axis) => insideOf(axis).map(({ count }) => count));
  if (counts.flat().includes(0)) return null;
  const pixel = 4 * channels, row = pixel * x.in, plane = row * y.in;
  // Copies of the border stand beyond it, after the elements that they copy.
  const [planes, lines] = [{ axis: z, step: plane }, { axis: y, step: row }].map(({ axis, step }) =>
    Array.from({ length: axis.out }, (_, p) => {
      const from = p * axis.stride - axis.before;
      return placesOf(axis, { from, count: axis.filter, step, kind: "max" });
    })
  );
  const rows = planes.flatMap((deep) =>
    lines.flatMap((down) => deep.flatMap((u) => down.map((v) => u + v)))
  );
  const columns = columnsOf(x, { step: pixel, kind: "max", apart: true });
  const table = Int32Array.from([...rows, ...columns]);
  // Where no element is in two windows, gradients are stored, else added.
  const apart = axes.every((a, i) =>
    a.stride >= a.filter && counts[i].every((n) => n === a.filter)
  );
  const whole = apart && axes.every((a) => a.stride * a.out === a.in && a.stride === a.filter);
  if (kind === "average" && !apart) return null;
  const code: GradientCode = {
    kind,
    lines: z.filter * y.filter,
    across: x.filter,
    adds: !apart,
    few: channels < 4 ? channels : 0,
  };
  const key = `${kind} gradient ${code.lines} ${x.filter} ${apart} ${code.few}`;
  const run = kernel(engine, `pool ${key}`, 10, (s, p) => writeGradient(s, p, code));
  const imageBytes = plane * z.in, resultRow = pixel * x.out, all = z.out * y.out;
  // Threads do not share rows of the image.
  const [zApart, yApart] = [z, y].map((a) => a.stride >= a.filter && a.before === 0);
  const height = zApart ? (yApart ? all : z.out) : 1, unit = all / height;
  const work = WORK * g.batch * channels * x.out * all * taps;
  return ([to], ins) => {
    // Averages do not read the images.
    const from = kind === "max" ? ins[0] : 0, dy = ins[ins.length - 1];
    if (!whole) engine.zero(to, g.batch * imageBytes);
    const at = engine.scratch(table.byteLength);
    engine.heap.i32.set(table, at >>> 2);
    const parts = cutRows(engine, { images: g.batch, rows: height, work });
    engine.callAll(parts.map(({ image, images, row: first, rows: count }): WasmCall => [run, [
      to + image * imageBytes,
      from + image * imageBytes,
      dy + (image * all + first * unit) * resultRow,
      at + 4 * code.lines * first * unit,
      at + 4 * rows.length,
      images,
      count * unit,
      x.out,
      channels,
      imageBytes,
    ]]));
  };
}

/** Parameters of the code. */
interface GradientCode {
  readonly kind: PoolKind;
  /** Lines of a window, and taps of each. */
  readonly lines: number;
  readonly across: number;
  /** True where gradients are added to the contents. */
  readonly adds: boolean;
  /** Number of channels where they do not fill a vector; else 0. */
  readonly few: number;
}

/** Parameters: to, images, gradient, rows, columns, images, rows of the gradient, its columns, channels, bytes of an image. */
function writeGradient(
  s: Simd,
  [to, x, dy, rows, columns, images, height, width, channels, imageBytes]: readonly I[],
  { kind, lines: down, across, adds, few }: GradientCode,
): void {
  const { f } = s;
  const lines = f.locals("i32", down), taps = lines.map(() => f.locals("i32", across));
  const [row, column, image, channel, left, here] = f.locals("i32", 6), all = taps.flat();
  const tops = f.locals("f32x4", 2), opens = f.locals("f32x4", 2);
  const lanes = adds && !few ? f.let(laneNumbers(f)) : null;
  const loadOne = few === 1 ? f32x4.loadFirst : few === 2 ? f32x4.loadPair : f32x4.load;
  const store = (at: I, v: F4, u: number): void =>
    few ? storePart(f, at, v, few) : f.store(at, v, 16 * u);

  /** Gives the gradients of so many vectors to their greatest tap; with a mask, only the masked ones. */
  const toGreatest = (vectors: number, mask: I4 | null): void => {
    const top = tops.slice(0, vectors), open = opens.slice(0, vectors);
    const loadAt = (at: Value<"i32">): F4[] => {
      f.set(here, at);
      return top.map((_, u) => loadOne(here, 16 * u));
    };
    // NaN is ignored.
    top.forEach((v) => f.set(v, s.k(-Infinity)));
    const from = f.variable("i32", i32.add(x, channel));
    for (const tap of all) {
      loadAt(i32.add(from, tap)).forEach((v, u) => f.set(top[u], f32x4.pmax(top[u], v)));
    }
    loadAt(i32.add(dy, channel)).forEach((v, u) =>
      f.set(open[u], mask ? f32x4.and(v, f32x4.ofBits(mask)) : v)
    );
    const into = f.variable("i32", i32.add(image, channel));
    const give = (tap: I, values: readonly F4[], add: boolean): void => {
      f.set(here, i32.add(into, tap));
      values.forEach((v, u) =>
        store(here, add ? f.let(f32x4.add(loadOne(here, 16 * u), v)) : v, u)
      );
    };
    // Each gradient goes to the first tap that equals the maximum.
    for (const tap of all) {
      const values = loadAt(i32.add(from, tap)).map((v, u) => {
        const first = f.let(f32x4.ofBits(f32x4.eq(v, top[u])));
        const given = f.let(f32x4.and(open[u], first));
        f.set(open[u], f32x4.andNot(open[u], first));
        return given;
      });
      give(tap, values, adds);
    }
    // A gradient without such a tap belongs to a window of NaN, and goes to its first tap.
    const rest = open.map((v): I4 => i32x4.ofBits(v)).reduce((a, b) => i32x4.or(a, b));
    f.if(i32.anyTrue(rest), () => give(all[0], open, true));
  };
  /** Gives the gradients of so many vectors to all taps alike. */
  const toAll = (vectors: number): void => {
    f.set(here, i32.add(dy, channel));
    const shares = tops.slice(0, vectors).map((_, u) =>
      f.let(f32x4.div(loadOne(here, 16 * u), s.k(all.length)))
    );
    const from = f.variable("i32", i32.add(image, channel));
    for (const tap of all) {
      f.set(here, i32.add(from, tap));
      shares.forEach((v, u) => store(here, v, u));
    }
  };
  const some = kind === "max" ? toGreatest : toAll;
  /** Processes all channels of a place. */
  const channelsOf = (): void => {
    f.set(left, channels);
    for (const vectors of [2, 1]) {
      f.countDown(left, 4 * vectors, () => {
        some(vectors, null);
        f.advance(channel, 16 * vectors);
      });
    }
    f.if(left, () => {
      // The last vector repeats some channels; where gradients are added, those are masked.
      f.advance(channel, i32.shl(i32.sub(left, 4), 2));
      const fresh = lanes && f.let(i32x4.ge(lanes, i32x4.splat(i32.sub(4, left))));
      some(1, fresh);
    });
  };
  // With three channels the fourth lane belongs to the next place.
  const own = few === 3 ? f.let(i32x4.gt(i32x4.splat(3), laneNumbers(f))) : null;

  f.set(image, to);
  f.times(images, () => {
    f.set(row, rows);
    f.times(height, () => {
      lines.forEach((line, k) => f.set(line, i32.load(row, 4 * k)));
      f.set(column, columns);
      f.times(width, () => {
        for (let j = 0; j < across; j++) {
          const place = f.let(i32.load(column, 4 * j));
          taps.forEach((taps, k) => f.set(taps[j], i32.add(lines[k], place)));
        }
        f.set(channel, 0);
        if (few) some(1, own);
        else channelsOf();
        f.advance(dy, i32.shl(channels, 2));
        f.advance(column, 4 * across);
      });
      f.advance(row, 4 * down);
    });
    f.advance(image, imageBytes);
    f.advance(x, imageBytes);
  });
}
