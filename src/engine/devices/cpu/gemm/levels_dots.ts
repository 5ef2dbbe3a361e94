/**
 * Products of few rows with rows of levels. Each row of x becomes, block by block, two numbers of 16 bits for each
 * element: the second is what rounding to the first leaves, so that as much is kept as float32 has. Levels are unpacked to 16 bits too, so that one instruction multiplies and adds eight of them, exactly.
 */
import type { LevelsLayout } from "../../../kernels/matmul/levels_layout.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i16x8, i32, i32x4, i8x16 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4, I4, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";

type I8 = Value<"i16x8">;

/** Bytes of a vector. */
const VECTOR = 16;
/** Rows of levels that are multiplied side by side. */
const ROWS = 4;
/** Blocks that one turn of the inner loop takes from each row. */
const TURNS = 2;
/** Bytes of levels that stay in the second cache while all rows of x pass by them. */
const NEAR = 1 << 17;
/** The largest of a rounded x. */
const MOST = 32767;
/** Units of the roundings of x, relative to its scale. */
const UNITS = [1, 1 / (2 * MOST)] as const;
/** Longest block whose sums of rounded x are exact as float32, and whose sums of products fit in 32 bits. */
const MOST_BLOCK = 512;

/** A product `C[m, n] = A[m, k] · Bᵀ`, B given as levels. */
export interface LevelsProduct extends LevelsLayout {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** True where all blocks have one zero. */
  readonly isOneZero: boolean;
}

/** True where blocks are whole vectors, and short enough. */
export function fitsDots({ bits, block }: LevelsLayout): boolean {
  return bits !== 2 && block * bits % (8 * VECTOR) === 0 && block <= MOST_BLOCK;
}

/** Prepares the product of A, levels, scales and zeros. `otherwise` computes it where an element of A is not finite. */
export function prepareDots(engine: Engine, product: LevelsProduct, otherwise: FastRun): FastRun {
  const { m, n, k, bits, block, isOneZero } = product;
  const blocks = Math.ceil(k / block), width = blocks * block, rowBytes = width * bits / 8;
  const round = kernel(
    engine,
    `levels round ${bits} ${block}`,
    5,
    (s, p) => writeRounding(s, product, p),
  );
  const run = kernel(
    engine,
    `levels dots ${bits} ${block} ${isOneZero}`,
    9,
    (s, p) => writeDots(s, product, p),
  );
  // For each row of A: its rounded elements, and for each block their scale and their sum.
  const wideBytes = roundUp(4 * width),
    halfBytes = roundUp(2 * width * UNITS.length),
    blockBytes = roundUp(4 * blocks);
  const rowRoom = halfBytes + 2 * blockBytes;
  const near = Math.max(ROWS, Math.floor(NEAR / rowBytes / ROWS) * ROWS);
  return (outs, ins) => {
    const [c] = outs, [a, levels, scales, zeros] = ins, { heap } = engine;
    const at = engine.scratch(wideBytes + m * rowRoom), rows = at + wideBytes;
    for (let i = 0; i < m; i++) {
      let x = a + 4 * i * k;
      if (k < width) {
        heap.u8.copyWithin(at, x, x + 4 * k);
        heap.u8.fill(0, at + 4 * k, at + 4 * width);
        x = at;
      }
      const to = rows + i * rowRoom;
      round(to, to + halfBytes, to + halfBytes + blockBytes, x, blocks);
      if (!areFinite(heap.f32, to + halfBytes, blocks)) return otherwise(outs, ins);
    }
    const dots = (i: number, from: number, size: number): WasmCall => {
      const x = rows + i * rowRoom;
      const own = [c + 4 * (i * n + from), levels + from * rowBytes, scales + 4 * from * blocks];
      const zero = isOneZero ? zeros : zeros + 4 * from * blocks;
      return [run, [...own, zero, x, x + halfBytes, x + halfBytes + blockBytes, size, blocks]];
    };
    const each = Math.min(m === 1 ? n : near, Math.ceil(n / engine.parts(m * n * k / 2)));
    const parts = evenBlocks(n, each, ROWS);
    const one = (f: WasmFunction, args: readonly number[]): void => void f(...args);
    if (parts.length === 1 || engine.parts(m * n * k / 2) === 1) {
      for (const { from, size } of parts) {
        for (let i = 0; i < m; i++) one(...dots(i, from, size));
      }
    } else {
      engine.callAll(
        parts.flatMap(({ from, size }) => Array.from({ length: m }, (_, i) => dots(i, from, size))),
      );
    }
  };
}

function areFinite(numbers: Float32Array, at: Pointer, count: number): boolean {
  const from = at >>> 2;
  for (let i = from; i < from + count; i++) if (!(numbers[i] < Infinity)) return false;
  return true;
}

/** Sum of four integers, in all lanes. */
function totalOf(f: FunctionBuilder, v: I4): I4 {
  const pair = f.let(i32x4.add(v, i32x4.shuffle(v, v, [2, 3, 0, 1])));
  return i32x4.add(pair, i32x4.shuffle(pair, pair, [1, 0, 3, 2]));
}

/**
 * Rounds blocks of x. Parameters: rounded elements, scales of blocks, their sums (times the scale), x, number of blocks. Elements lie as
 * levels do when words of 16 bits are unpacked: first those that are the lowest level of such a word.
 */
function writeRounding(
  s: Simd,
  { bits, block }: LevelsLayout,
  [to, scales, xSums, x, blocks]: readonly I[],
): void {
  const { f } = s, per = 16 / bits;
  const each = (visit: (at: number) => void): void => {
    for (let at = 0; at < 4 * block; at += VECTOR) visit(at);
  };
  f.countDown(blocks, 1, () => {
    // Not 0, so that it can be divided by.
    const most = f.variable("f32x4", s.k(1e-30));
    each((at) => f.set(most, f32x4.max(most, s.abs(f.let(f32x4.load(x, at))))));
    f.set(most, f32x4.max(most, f32x4.shuffle(most, most, [2, 3, 0, 1])));
    f.set(most, f32x4.max(most, f32x4.shuffle(most, most, [1, 0, 3, 2])));
    const factor = f.let(f32x4.div(s.k(MOST), most));
    // The rest of the first rounding is rounded again, in units that much smaller.
    const sums = UNITS.map(() => f.variable("i32x4", s.i(0)));
    const eight = (at: number): I8[] => {
      const halves = [at, at + VECTOR].map((p) => {
        const rest = f.variable("f32x4", f32x4.mul(f32x4.load(x, p), factor));
        return UNITS.map((_, plane) => {
          const whole = f.let(f32x4.nearest(rest)), v = f.let(i32x4.ofF32(whole));
          f.set(rest, f32x4.mul(f32x4.sub(rest, whole), s.k(2 * MOST)));
          f.set(sums[plane], i32x4.add(sums[plane], v));
          return v;
        });
      });
      return UNITS.map((_, plane) => f.let(i16x8.narrow(halves[0][plane], halves[1][plane])));
    };
    for (let group = 0; group < block; group += 8 * per) {
      const natural = Array.from({ length: per }, (_, i) => eight(4 * (group + 8 * i)));
      UNITS.forEach((_, plane) =>
        spreadOut(natural.map((planes) => planes[plane])).forEach((v, i) =>
          f.store(to, v, 2 * group * UNITS.length + VECTOR * (plane * per + i))
        )
      );
    }
    const scale = f.let(f32x4.mul(most, s.k(1 / MOST)));
    const parts = sums.map((sum, plane) =>
      f32x4.mul(f32x4.ofI32(totalOf(f, sum)), s.k(UNITS[plane]))
    );
    f.storeLane(scales, scale, 4, 0);
    f.storeLane(xSums, f32x4.mul(scale, parts.reduce((a, b) => f32x4.add(a, b))), 4, 0);
    f.advance(to, 2 * block * UNITS.length);
    f.advance(x, 4 * block);
    f.advance(scales, 4);
    f.advance(xSums, 4);
  });
}

/** Picks each second, or each fourth, of the eights: vector i has the elements i, i + n, i + 2n, … of n vectors. */
function spreadOut(eights: readonly I8[]): I8[] {
  const shuffle = (a: I8, b: I8, lanes: readonly number[]): I8 =>
    i16x8.ofBits(
      i8x16.shuffle(i8x16.ofBits(a), i8x16.ofBits(b), lanes.flatMap((l) => [2 * l, 2 * l + 1])),
    );
  if (eights.length === 2) {
    const [a, b] = eights;
    return [0, 1].map((i) => shuffle(a, b, Array.from({ length: 8 }, (_, j) => 2 * j + i)));
  }
  const [a, b, c, d] = eights;
  // Elements i and i + 4 of the first two, then of the last two.
  const pick = (x: I8, y: I8, i: number): I8 =>
    shuffle(x, y, [i, i + 4, i + 8, i + 12, 0, 0, 0, 0]);
  return [0, 1, 2, 3].map((i) => shuffle(pick(a, b, i), pick(c, d, i), [0, 1, 2, 3, 8, 9, 10, 11]));
}

/**
 * Parameters: C, levels, scales, zeros, rounded x with its scales and sums, rows of levels, blocks of a row.
 */
function writeDots(
  s: Simd,
  { bits, block, isOneZero }: LevelsProduct,
  [c, levels, scales, zeros, x, xScales, xSums, n, blocks]: readonly I[],
): void {
  const { f } = s,
    per = 16 / bits,
    vectors = block * bits / 8 / VECTOR;
  const rowBytes = f.let(i32.mul(blocks, block * bits / 8)), scaleBytes = f.let(i32.shl(blocks, 2));
  const zero = isOneZero ? f.let(f32x4.loadSplat(zeros)) : null;
  const pass = (count: number): void => {
    const rows = f.ramp(levels, rowBytes, count), at = f.variable("i32", x);
    const own = f.ramp(scales, scaleBytes, count), xs = f.variable("i32", xScales);
    const sums = own.map(() => f.variable("f32x4", s.k(0)));
    const left = f.variable("i32", blocks);
    const turn = (offset: number): void => {
      const dots: I4[][] = rows.map(() => []);
      for (let v = 0; v < vectors; v++) {
        const first = VECTOR * (offset * vectors + v);
        const right = Array.from(
          { length: per * UNITS.length },
          (_, i) => f.let(i16x8.load(at, per * UNITS.length * first + VECTOR * i)),
        );
        rows.forEach((row, r) => {
          const parts = unpack(f, i16x8.load(row, first), bits).map((part) => f.let(part));
          UNITS.forEach((_, plane) => {
            const own = parts.map((part, i) => i32x4.dot(part, right[plane * per + i]));
            const before = v === 0 ? [] : [dots[r][plane]];
            dots[r][plane] = f.let([...before, ...own].reduce((sum, part) => i32x4.add(sum, part)));
          });
        });
      }
      const scale = f.let(f32x4.loadSplat(xs, 4 * offset));
      sums.forEach((sum, r) => {
        const factor = f32x4.mul(f32x4.loadSplat(own[r], 4 * offset), scale);
        const [first, second] = dots[r].map((dot) => f32x4.ofI32(dot));
        const whole = s.madd(second, s.k(UNITS[1]), first);
        f.set(sum, s.madd(whole, factor, sum));
      });
    };
    for (const turns of [TURNS, 1]) {
      f.countDown(left, turns, () => {
        for (let offset = 0; offset < turns; offset++) turn(offset);
        rows.forEach((row) => f.advance(row, VECTOR * vectors * turns));
        [...own, xs].forEach((p) => f.advance(p, 4 * turns));
        f.advance(at, VECTOR * per * UNITS.length * vectors * turns);
      });
    }
    // The part of the zeros: for each block its scale and zero times the sum of x.
    const scalesAt = f.ramp(scales, scaleBytes, count), sumAt = f.variable("i32", xSums);
    const zerosAt = zero ? [] : f.ramp(zeros, scaleBytes, count);
    const offsets = sums.map(() => f.variable("f32x4", s.k(0)));
    f.set(left, blocks);
    for (const turn of [4, 1]) {
      const load = (p: I): F4 => f.let(turn === 4 ? f32x4.load(p) : f32x4.loadFirst(p));
      f.countDown(left, turn, () => {
        const sum = load(sumAt);
        offsets.forEach((offset, r) => {
          const factor = zero ? sum : f.let(f32x4.mul(sum, load(zerosAt[r])));
          f.set(offset, s.madd(load(scalesAt[r]), factor, offset));
        });
        [sumAt, ...scalesAt, ...zerosAt].forEach((p) => f.advance(p, 4 * turn));
      });
    }
    sums.forEach((sum, r) => {
      const whole = f32x4.sub(sum, zero ? f32x4.mul(offsets[r], zero) : offsets[r]);
      f.storeLane(c, total(f, f.let(whole)), 4, 0, 4 * r);
    });
    f.advance(c, 4 * count);
    f.advance(levels, i32.mul(rowBytes, count));
    f.advance(scales, i32.mul(scaleBytes, count));
    if (!zero) f.advance(zeros, i32.mul(scaleBytes, count));
  };
  for (const count of [ROWS, 1]) f.countDown(n, count, () => pass(count));
}

function total(f: FunctionBuilder, v: F4): F4 {
  const pair = f.let(f32x4.add(v, f32x4.shuffle(v, v, [2, 3, 0, 1])));
  return f32x4.add(pair, f32x4.shuffle(pair, pair, [1, 0, 3, 2]));
}

/** Returns the levels of eight words of 16 bits: those of the lowest bits, then the next. */
function unpack(f: FunctionBuilder, words: I8, bits: number): I8[] {
  const w = f.let(words), most = f.constant("i16x8", 2 ** bits - 1), last = 16 / bits - 1;
  return Array.from({ length: last + 1 }, (_, i) => {
    const moved = i === 0 ? w : i16x8.shrU(w, bits * i);
    return i === last ? moved : i16x8.and(moved, most);
  });
}
