/**
 * The inner kernel on panels that are copied to objects of the engine's heap: see panel_objects.ts. The panels of a block of B are
 * copied once a thread, each panel of A once for all panels of B.
 *
 * Sums are padded to whole chunks by products of 0 and -0, which change no sum, not even one of -0.
 * May import devices/cpu.
 */
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import type { Finish } from "./finish.ts";
import { PANEL_COLUMNS, type Tile } from "./gemm_tile.ts";
import { eachTile, type PanelParams } from "./gemm_walk.ts";
import { CHUNK, type PanelObjects } from "./panel_objects.ts";

type I = Local<"i32">;

/** Writes the body of the kernel. */
export function writeObjectPanels(
  f: FunctionBuilder,
  objects: PanelObjects,
  tile: Tile,
  p: PanelParams,
  finish: Finish | undefined,
): void {
  const depthBytes = f.variable("i32", i32.mul(p.segmentCount, p.segmentBytes));
  const chunks = f.variable("i32", i32.shrU(depthBytes, 5));
  const rest = f.variable("i32", i32.shrU(i32.and(depthBytes, 4 * CHUNK - 1), 2));
  const all = f.variable("i32", i32.add(chunks, i32.ne(rest, 0)));
  // All chunks but a last one that is half empty.
  const whole = f.variable("i32", i32.add(chunks, i32.gt(rest, CHUNK / 2)));
  objects.unlessHeld(p.block, () => copyB(f, objects, p, depthBytes, all));
  const i = f.local("i32"), at = f.local("i32");
  const begin = (): void => {
    copyA(f, objects, tile.rows, p);
    f.set(at, 0);
  };
  const steps = (count: number): void => {
    const a = objects.chunkOfA(i), b = objects.chunkOfB(at);
    for (let k = 0; k < count; k++) {
      const row = [f.let(b.get(k, 0)), f.let(b.get(k, 1))] as const;
      tile.step((r) => a.get(k, r), row);
    }
    f.advance(at, 1);
  };
  eachTile(f, tile.rows.length, p, finish, begin, (target) => {
    tile.clear();
    f.set(i, 0);
    f.until(i, whole, 1, () => steps(CHUNK));
    f.if(i32.ne(whole, all), () => steps(CHUNK / 2));
    tile.store(target);
  });
}

/** Copies all panels of B, eight rows at a time, so that memory is read in order. */
function copyB(
  f: FunctionBuilder,
  objects: PanelObjects,
  { b, bStep, bPanelStep, columns }: PanelParams,
  depthBytes: I,
  all: I,
): void {
  const first = f.variable("i32", b), chunk = f.variable("i32", 0), none = f.constant("f32x4", -0);
  const rows = f.variable("i32", i32.shrU(depthBytes, 2));
  const from = f.local("i32"), row = f.local("i32"), at = f.local("i32"), left = f.local("i32");
  const low = f.local("f32x4"), high = f.local("f32x4");
  f.until(chunk, all, 1, () => {
    f.set(from, first);
    f.set(at, chunk);
    f.set(left, columns);
    f.while(i32.gt(left, 0), () => {
      f.set(row, from);
      const to = objects.chunkOfB(at);
      for (let k = 0; k < CHUNK; k++) {
        f.set(low, none);
        f.set(high, none);
        f.if(i32.gt(rows, k), () => {
          f.set(low, f32x4.load(row));
          f.set(high, f32x4.load(row, 16));
          f.advance(row, bStep);
        });
        to.set(k, 0, low);
        to.set(k, 1, high);
      }
      f.advance(from, bPanelStep);
      f.advance(at, all);
      f.advance(left, -PANEL_COLUMNS);
    });
    f.advance(first, i32.mul(bStep, CHUNK));
    f.advance(rows, -CHUNK);
  });
}

/** Copies a panel of A: each element to four lanes. Segments are whole chunks, or there is one. */
function copyA(
  f: FunctionBuilder,
  objects: PanelObjects,
  rows: readonly number[],
  { panel, segments, segmentCount, segmentBytes, aBase }: PanelParams,
): void {
  const a = rows.map(() => f.local("i32"));
  const segment = f.variable("i32", segments), count = f.variable("i32", segmentCount);
  const i = f.variable("i32", 0), base = f.local("i32"), left = f.local("i32");
  // Which lanes are of the segment, as bits.
  const masks = [0, 4].map((lane) => ({ lane, bits: f.local("i32x4") }));
  const counted = [1, 2, 3].reduce((v, l) => i32x4.withLane(v, l, l), i32x4.const(0));
  const numbers = f.let(counted);
  f.while(i32.gt(count, 0), () => {
    f.set(base, i32.add(aBase, i32.load(segment)));
    rows.forEach((r) => f.set(a[r], i32.add(i32.load(panel, 4 * (rows.length + r)), base)));
    f.set(left, i32.shrU(segmentBytes, 2));
    f.while(i32.gt(left, 0), () => {
      const to = objects.chunkOfA(i);
      masks.forEach(({ lane, bits }) =>
        f.set(bits, i32x4.gt(i32x4.splat(left), i32x4.add(numbers, lane)))
      );
      for (const { lane, bits } of masks) {
        const x = rows.map((r) => f.let(f32x4.and(f32x4.load(a[r], 4 * lane), f32x4.ofBits(bits))));
        // Neighbours one after the other: processors join stores to one cache line.
        for (const l of [0, 1, 2, 3]) {
          rows.forEach((r) => to.set(lane + l, r, f32x4.shuffle(x[r], x[r], [l, l, l, l])));
        }
      }
      rows.forEach((r) => f.advance(a[r], 4 * CHUNK));
      f.advance(i, 1);
      f.advance(left, -CHUNK);
    });
    f.advance(segment, 4);
    f.advance(count, -1);
  });
}
