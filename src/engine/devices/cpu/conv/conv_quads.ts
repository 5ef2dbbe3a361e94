/** Convolutions of whole numbers of 8 bits by filters of levels: images become bytes, which are read in place as floats are. */
import type { Epilogue } from "../../../core/fusion.ts";
import { roundUp } from "../blocks.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { LevelsOfB } from "../gemm/gemm_levels.ts";
import { QUAD } from "../gemm/gemm_levels.ts";
import { bytesOfA, isWhole, leastOf, wholeEpilogue } from "../gemm/gemm_quads.ts";
import { operandsFrom, prepareSums } from "../gemm/gemm_sums.ts";
import type { ConvRows } from "./conv_rows.ts";

/** A convolution, with the filter's layout, and the kernel of other images. */
export interface QuadsConv {
  readonly rows: ConvRows;
  readonly channels: number;
  readonly outChannels: number;
  readonly levels: LevelsOfB;
  readonly epilogue: Epilogue | undefined;
  readonly otherwise: FastRun;
}

/** Prepares the convolution by levels, which looks at the elements of the images in each run. */
export function prepareConvQuads(engine: Engine, conv: QuadsConv): FastRun {
  const { channels, otherwise } = conv;
  if (channels % QUAD !== 0) return otherwise;
  let whole: ReturnType<typeof prepareWhole> | null = null;
  return (outs, ins) => {
    if (!isWhole(engine, ins[1])) return otherwise(outs, ins);
    whole ??= prepareWhole(engine, conv);
    if (!whole(outs, ins)) otherwise(outs, ins);
  };
}

function prepareWhole(
  engine: Engine,
  { rows, outChannels, levels: { parts }, epilogue }: QuadsConv,
) {
  const { padded, segments, length } = rows, own = wholeEpilogue(epilogue);
  const tables = rows.tables.map((table) => table.inBytes(engine));
  const sums = prepareSums(engine, {
    columns: outChannels,
    segments: segments.map((s) => s / 4),
    length: length / QUAD,
    tables,
    pack: null,
    panels: parts.step,
    epilogue: own,
    terms: "quads",
  });
  const most = padded.groups[0].images * padded.imageBytes / 4;
  const work = roundUp(sums.bytes(0)), bytes = 64 + work + roundUp(padded.bytes) + roundUp(most);
  /** False where an image has other elements. */
  return ([c]: readonly number[], [a, b, ...more]: readonly number[]): boolean => {
    const number = engine.scratch(bytes), at = number + 64, images = at + work;
    const quads = images + roundUp(padded.bytes);
    const operands = [...more, b + parts.sums, b + parts.scales, number];
    for (const group of padded.groups) {
      const image = padded.fill(images, a, group), count = group.images * padded.imageBytes / 4;
      const least = leastOf(engine, number, image, count);
      if (least === null) return false;
      engine.heap.i32[number >>> 2] = least;
      bytesOfA(engine, quads, image, count, least);
      const table = tables[group.images === padded.groups[0].images ? 0 : 1];
      const here = { table, a: () => quads, c: c + group.first * rows.imageBytes };
      sums.run(at, [{ b: b + parts.panels, rows: [here] }], operandsFrom(own, operands, c));
    }
    return true;
  };
}
