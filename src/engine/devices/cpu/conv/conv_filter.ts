/**
 * The gradient of a convolution's filter: patches of the image, transposed block by block, times the gradient of the
 * result.
 */
import { sizeOf } from "../../../core/shape.ts";
import { isPointwiseWindow, outPlaces } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastPrepare } from "../fast.ts";
import { prepareProduct } from "../gemm/gemm.ts";
import { packing } from "../gemm/gemm_pack.ts";
import { tablesOf } from "../gemm/gemm_rows.ts";
import { type DepthBlock, prepareSums, type RowsHere } from "../gemm/gemm_sums.ts";
import { panelRows } from "../gemm/gemm_tile.ts";
import { floatWindow } from "../pool/windows.ts";
import { preparePlaces } from "./conv_filter_places.ts";
import { type ConvRows, convRows, forwardAxes, piecesOf } from "./conv_rows.ts";

/** Rows of the filter that are transposed at once. */
const BLOCK_ROWS = 384;
/** Bytes of a transposed row: a block of places, and an odd number of vectors. */
const TURNED_STEP = 4 * 256 + 4 * 4 + 16;

/** Conv2DBackpropFilter and Conv3DBackpropFilterV2. */
export const prepareFilterGradient: FastPrepare = (engine, problem) => {
  const { inputs: [x], outputs: [df] } = problem, g = floatWindow(problem, x.shape, df.shape);
  if (g === null) return null;
  const { channels: c, outChannels: oc } = g;
  const places = outPlaces(g), total = g.batch * places;
  if (total === 0) return ([d]) => engine.zero(d, 4 * sizeOf(df.shape));
  if (isPointwiseWindow(g)) {
    const product = prepareProduct(engine, { m: c, n: oc, k: total, transA: true, transB: false });
    return (outs, [p, , dy]) => product(outs, [p, dy]);
  }
  const rows = convRows(engine, g.batch, forwardAxes(g), c, oc);
  const { padded } = rows;
  const count = rows.segments.length * rows.length;
  if (count === 0 || oc === 0) return () => {};
  const own = preparePlaces(engine, g, rows);
  if (own) return own;
  const blocks = evenBlocks(count, BLOCK_ROWS, panelRows(engine));
  const tables = tablesOf(engine, blocks, (i) => i * TURNED_STEP, (i) => 4 * oc * i);
  const kinds = [...new Set(padded.groups.map((group) => group.images))];
  const sums = kinds.map((images) =>
    prepareSums(engine, {
      columns: oc,
      segments: [0],
      length: images * places,
      tables: [...tables.values()],
      pack: "rows",
    })
  );
  const lists = kinds.map((images) => rows.list(images));
  const work = Math.max(...sums.map((s) => s.bytes(1)));
  const listBytes = roundUp(4 * kinds[0] * places);
  const turnedBytes = roundUp(TURNED_STEP * Math.min(count, BLOCK_ROWS + 6));
  const bytes = work + listBytes + turnedBytes + padded.bytes;
  return ([d], [p, , dy]) => {
    const base = engine.scratch(bytes), list = base + work, turned = list + listBytes;
    const images = turned + turnedBytes;
    let held = -1;
    for (const group of padded.groups) {
      const kind = kinds.indexOf(group.images);
      if (held !== kind) engine.heap.i32.set(lists[kind], list >>> 2);
      held = kind;
      const image = padded.fill(images, p, group);
      const turn = turner(engine, rows, { turned, list, image });
      const here = blocks.map(({ from, size }): RowsHere => ({
        table: tables.get(size)!,
        c: d + 4 * oc * from,
        // Addresses are relative to the segment's first element.
        a: (depth) => turned - 4 * depth.start,
        turn: (depth) => turn(depth, from, size),
      }));
      const gradient = dy + 4 * group.first * places * oc;
      sums[kind].run(base, [{ b: gradient, rows: here }], [], { add: group.first > 0 });
    }
  };
};

/** Makes the calls that transpose the elements of a block of places at rows `[from, from + size)` of the filter. */
function turner(
  engine: Engine,
  { segments, length }: ConvRows,
  { turned, list, image }: Readonly<Record<"turned" | "list" | "image", number>>,
): (depth: DepthBlock, from: number, size: number) => WasmCall[] {
  const { turn } = packing(engine);
  return (depth, from, size) =>
    piecesOf({ from, size }, length).map(({ segment, start, size, at }): WasmCall => {
      const first = image + segments[segment] + 4 * start, to = turned + at * TURNED_STEP;
      return [turn, [to, TURNED_STEP, list + 4 * depth.start, first, depth.size, size]];
    });
}
