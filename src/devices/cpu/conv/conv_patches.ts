/**
 * Convolutions whose windows are made of runs that panels as objects do not take: patches of the images are laid out side by side,
 * some rows at a time, and multiplied as a plain matrix.
 * May import core, kernels and devices/cpu.
 */
import { outPlaces, type WindowGeometry } from "../../../kernels/conv_geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Finish } from "../gemm/finish.ts";
import { RowTable } from "../gemm/gemm_rows.ts";
import {
  type DepthBlock,
  operandsFrom,
  type RowsHere,
  Sums,
  worthObjects,
} from "../gemm/gemm_sums.ts";
import { BLOCK_DEPTH, panelRows } from "../gemm/gemm_tile.ts";
import { CHUNK } from "../gemm/panel_objects.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { type ConvRows, convRows } from "./conv_rows.ts";
import { forwardAxes } from "./padded_images.ts";

/** Rows that are laid out at once, and those of one call. */
const BLOCK_ROWS = 192, CALL_ROWS = 48;
/** Fewer columns are not worth the copies. */
const PATCH_COLUMNS = 48;

/** A convolution by patches, or null where they are not worth their copies. */
export function preparePatches(
  engine: Engine,
  g: WindowGeometry,
  finish?: Finish,
): FastRun | null {
  const { channels, outChannels: n, batch } = g;
  if (n < PATCH_COLUMNS) return null;
  const rows = convRows(engine, batch, forwardAxes(g), channels, n);
  const { padded, segments, length } = rows;
  const k = segments.length * length;
  if (k === 0 || segments.length === 1 || length % CHUNK === 0) return null;
  const places = outPlaces(g), total = padded.groups[0].images * places;
  if (!worthObjects(engine, Math.ceil(total / panelRows(engine)), n)) return null;

  const step = 4 * (Math.min(k, BLOCK_DEPTH) | 4) + 16;
  const kinds = [...new Set(padded.groups.map((group) => group.images))].map((images) => ({
    list: rows.list(images),
    blocks: evenBlocks(images * places, BLOCK_ROWS, panelRows(engine)),
  }));
  const sizes = new Set(kinds.flatMap(({ blocks }) => blocks.map((b) => b.size)));
  const tables = [...sizes].map((size) =>
    new RowTable(engine, size, (i) => i * step, (i) => 4 * n * i)
  );
  const sums = new Sums(engine, {
    columns: n,
    segments: [0],
    length: k,
    tables,
    pack: "rows",
    finish,
  });
  const run = patchKernel(engine);
  const pieces = new Map<number, Int32Array>();
  const piecesOf = (depth: DepthBlock): Int32Array => {
    let own = pieces.get(depth.start);
    if (own === undefined) pieces.set(depth.start, own = cutOut(rows, depth));
    return own;
  };

  const work = sums.bytes(1);
  const tableBytes = tables.reduce((s, t) => s + roundUp(t.bytes), 0);
  const listBytes = roundUp(kinds[0].list.byteLength), pieceBytes = roundUp(8 * k);
  const patchBytes = roundUp(step * Math.min(total, BLOCK_ROWS + 6));
  const bytes = work + tableBytes + listBytes + pieceBytes + patchBytes + padded.bytes;
  return ([y], [x, filter, ...more]) => {
    const { heap } = engine, base = engine.scratch(bytes);
    let at = base + work;
    const tablesAt = tables.map((t) => {
      t.put(heap, at);
      const here = at;
      at += roundUp(t.bytes);
      return here;
    });
    const list = at, pieces = list + listBytes, patches = pieces + pieceBytes;
    const images = patches + patchBytes;
    const operands = operandsFrom(finish, more, y);
    padded.clear(engine, images);
    let held = -1;
    for (const group of padded.groups) {
      const kind = group.images === padded.groups[0].images ? 0 : 1;
      if (kind !== held) heap.i32.set(kinds[kind].list, list >>> 2);
      held = kind;
      const image = padded.fill(engine, images, x, group);
      const result = y + group.first * rows.imageBytes;
      const here = kinds[kind].blocks.map(({ from, size }): RowsHere => {
        const t = tables.findIndex((table) => table.rows === size);
        return {
          table: tables[t],
          at: tablesAt[t],
          c: result + 4 * n * from,
          // As if the rows began with the first element of the segment.
          a: (depth) => patches - 4 * depth.start,
          turn: (depth) => {
            const own = piecesOf(depth);
            heap.i32.set(own, pieces >>> 2);
            return evenBlocks(size, CALL_ROWS, 1).map((part): WasmCall => [run, [
              patches + part.from * step,
              step,
              list + 4 * (from + part.from),
              image,
              part.size,
              pieces,
              own.length / 2,
            ]]);
          },
        };
      });
      sums.run(base, [{ b: filter, rows: here }], operands);
    }
  };
}

/** What a block of depth takes of the segments: offsets and bytes in turn. */
function cutOut(
  { segments, length }: ConvRows,
  { start, size }: DepthBlock,
): Int32Array {
  const pieces: number[] = [];
  for (let at = start; at < start + size;) {
    const first = at % length, count = Math.min(length - first, start + size - at);
    pieces.push(segments[Math.floor(at / length)] + 4 * first, 4 * count);
    at += count;
  }
  return Int32Array.from(pieces);
}

/** `run(to, step, pointers, base, rows, pieces, count)`: from each pointer the pieces (offset and bytes), side by side. */
export function patchKernel(engine: Engine): WasmFunction {
  return engine.compile("conv patches", (m) => {
    m.function("run", new Array<"i32">(7).fill("i32"), null, (f, ...p) => {
      const [to, step, pointers, base, rows, pieces, count] = p as Local<"i32">[];
      const target = f.local("i32"), end = f.local("i32"), from = f.local("i32");
      const row = f.local("i32"), piece = f.local("i32"), left = f.local("i32");
      f.while(i32.gt(rows, 0), () => {
        f.set(target, to);
        f.set(row, i32.add(i32.load(pointers), base));
        f.set(piece, pieces);
        f.set(left, count);
        f.while(i32.gt(left, 0), () => {
          f.set(from, i32.add(row, i32.load(piece)));
          f.set(end, i32.add(target, i32.load(piece, 4)));
          // Whole vectors: what they write too far is written next.
          f.while(i32.ltU(target, end), () => {
            f.store(target, f32x4.load(from));
            f.advance(target, 16);
            f.advance(from, 16);
          });
          f.set(target, end);
          f.advance(piece, 8);
          f.advance(left, -1);
        });
        f.advance(to, step);
        f.advance(pointers, 4);
        f.advance(rows, -1);
      });
    });
  }).run;
}
