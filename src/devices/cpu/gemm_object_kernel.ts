/**
 * The inner kernel on panels that are copied to objects of the engine's heap: see panel_objects.ts. The panels of a block of B are
 * copied once a thread, each panel of A once for all panels of B.
 *
 * Sums are padded to whole chunks by products of 0 and -0, which change no sum, not even one of -0.
 * May import this folder.
 */
import { type Finish, PANEL_COLUMNS, type Tile } from "./gemm_tile.ts";
import { eachTile, type PanelParams } from "./gemm_walk.ts";
import { CHUNK, type PanelObjects } from "./panel_objects.ts";
import type { FunctionBuilder, Local } from "./wasm/function_builder.ts";
import { f32x4, i32 } from "./wasm/instructions.ts";
import type { F4 } from "./wasm/simd.ts";

type I = Local<"i32">;
/** Bytes of a row of A that are one chunk. */
const CHUNK_BYTES = 4 * CHUNK;

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
  const rest = f.variable("i32", i32.shrU(i32.and(depthBytes, CHUNK_BYTES - 1), 2));
  objects.unlessHeld(p.block, () => copyB(f, objects, p, chunks, rest));
  const i = f.local("i32"), at = f.local("i32");
  const begin = (): void => {
    copyA(f, objects, tile.rows, p, rest);
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
    f.until(i, chunks, 1, () => steps(CHUNK));
    f.if(rest, () => f.if(i32.gt(rest, CHUNK / 2), () => steps(CHUNK), () => steps(CHUNK / 2)));
    tile.store(target);
  });
}

/** Copies all panels of B, eight rows at a time, so that memory is read in order. */
function copyB(
  f: FunctionBuilder,
  objects: PanelObjects,
  { b, bStep, bPanelStep, columns }: PanelParams,
  chunks: I,
  rest: I,
): void {
  const first = f.variable("i32", b), chunk = f.variable("i32", 0);
  const from = f.local("i32"), row = f.local("i32"), at = f.local("i32"), left = f.local("i32");
  const all = f.variable("i32", i32.add(chunks, i32.ne(rest, 0)));
  const panels = (load: (k: number) => readonly [F4, F4]): void => {
    f.set(from, first);
    f.set(at, chunk);
    f.set(left, columns);
    f.while(i32.gt(left, 0), () => {
      f.set(row, from);
      const to = objects.chunkOfB(at);
      for (let k = 0; k < CHUNK; k++) {
        load(k).forEach((x, half) => to.set(k, half, x));
        f.advance(row, bStep);
      }
      f.advance(from, bPanelStep);
      f.advance(at, all);
      f.advance(left, -PANEL_COLUMNS);
    });
  };
  f.until(chunk, chunks, 1, () => {
    panels(() => [f32x4.load(row), f32x4.load(row, 16)]);
    f.advance(first, i32.mul(bStep, CHUNK));
  });
  f.if(rest, () => {
    const low = f.local("f32x4"), high = f.local("f32x4"), none = f.constant("f32x4", -0);
    panels((k) => {
      f.set(low, none);
      f.set(high, none);
      f.if(i32.gt(rest, k), () => {
        f.set(low, f32x4.load(row));
        f.set(high, f32x4.load(row, 16));
      });
      return [low, high];
    });
  });
}

/** Copies a panel of A: each element to four lanes. Segments are whole chunks, or there is one. */
function copyA(
  f: FunctionBuilder,
  objects: PanelObjects,
  rows: readonly number[],
  { panel, segments, segmentCount, segmentBytes, aBase }: PanelParams,
  rest: I,
): void {
  const a = rows.map(() => f.local("i32"));
  const segment = f.variable("i32", segments), left = f.variable("i32", segmentCount);
  const i = f.variable("i32", 0), base = f.local("i32"), end = f.local("i32");
  f.while(i32.gt(left, 0), () => {
    f.set(base, i32.add(aBase, i32.load(segment)));
    rows.forEach((r) => f.set(a[r], i32.add(i32.load(panel, 4 * (rows.length + r)), base)));
    f.set(end, i32.add(a[0], i32.and(segmentBytes, -CHUNK_BYTES)));
    f.while(i32.ltU(a[0], end), () => {
      const to = objects.chunkOfA(i);
      rows.forEach((r) => {
        for (const half of [0, 4]) {
          const x = f.let(f32x4.load(a[r], 4 * half));
          [0, 1, 2, 3].forEach((l) => to.set(half + l, r, f32x4.shuffle(x, x, [l, l, l, l])));
        }
        f.advance(a[r], CHUNK_BYTES);
      });
      f.advance(i, 1);
    });
    f.advance(segment, 4);
    f.advance(left, -1);
  });
  f.if(rest, () => {
    const to = objects.chunkOfA(i), x = f.local("f32x4"), none = f.constant("f32x4", 0);
    for (let k = 0; k < CHUNK; k++) {
      rows.forEach((r) => {
        f.set(x, none);
        f.if(i32.gt(rest, k), () => f.set(x, f32x4.loadSplat(a[r], 4 * k)));
        to.set(k, r, x);
      });
    }
  });
}
