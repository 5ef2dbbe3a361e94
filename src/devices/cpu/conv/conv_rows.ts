/**
 * The rows of a convolution: where each place of the result reads the padded image. One list of offsets serves all places.
 */
import type { Engine } from "../engine.ts";
import { RowTable } from "../gemm/gemm_rows.ts";
import type { Three } from "./conv_edges.ts";
import { type ConvAxis, imageSteps, type Padded, padImages } from "./padded_images.ts";

/** Rows of a convolution. */
export interface ConvRows {
  /** Where each place of an image group reads, in bytes: the rows' pointers as a list. */
  readonly list: (images: number) => Int32Array;
  /** Tables of the first group and of the last, where that is smaller. */
  readonly tables: readonly RowTable[];
  /** Offsets of segments from a row's pointer, in bytes. */
  readonly segments: readonly number[];
  /** Floats of a segment. */
  readonly length: number;
  /** Bytes of one image of the result. */
  readonly imageBytes: number;
  /** The image, padded. */
  readonly padded: Padded;
}

/** Rows whose pointers are kept for one shape. */
const GROUP_ROWS = 16384;

/**
 * The rows of a convolution of `batch` images of `channels` channels into `outChannels`. `reach` names further axes that read the
 * same padded image.
 */
export function convRows(
  engine: Engine,
  batch: number,
  axes: Three<ConvAxis>,
  channels: number,
  outChannels: number,
  reach: Three<readonly ConvAxis[]> = [[], [], []],
): ConvRows {
  const places = axes.map((a) => a.out);
  const rowsPerImage = places[0] * places[1] * places[2];
  // Of all phases alike, so that they share their groups.
  const rowsOfAll = axes[0].outAll * axes[1].outAll * axes[2].outAll;
  const most = GROUP_ROWS / Math.max(1, rowsOfAll);
  const padded = padImages(engine, axes, { batch, channels, reach, most });
  const { groups, before, steps, imageBytes } = padded;
  const result = axes.map((a) => ({ in: a.outAll }));
  const { steps: outStep, imageBytes: outImage } = imageSteps(result, outChannels);
  const at = (row: number, one: (axis: number, place: number) => number, image: number): number => {
    const x = row % places[2], y = Math.floor(row / places[2]) % places[1];
    const z = Math.floor(row / (places[2] * places[1])) % places[0];
    return one(0, z) + one(1, y) + one(2, x) + Math.floor(row / rowsPerImage) * image;
  };
  const readAt = (row: number): number =>
    at(row, (i, p) => (p * axes[i].stride + before[i]) * steps[i], imageBytes);
  const sizes = [...new Set([groups[0].images, groups[groups.length - 1].images])];
  const tables = sizes.map((images) =>
    new RowTable(
      engine,
      images * rowsPerImage,
      readAt,
      (row) => at(row, (i, p) => (axes[i].outFirst + p * axes[i].outStep) * outStep[i], outImage),
    )
  );
  return {
    tables,
    list: (images) => Int32Array.from({ length: images * rowsPerImage }, (_, row) => readAt(row)),
    ...segmentsOf(axes, steps, channels),
    imageBytes: outImage,
    padded,
  };
}

/** Neighbours along the last axis are one segment. */
export function segmentsOf(
  axes: Three<Pick<ConvAxis, "offsets">>,
  step: readonly number[],
  channels: number,
): { segments: number[]; length: number } {
  const [z, y, x] = axes.map((a) => a.offsets);
  const joined = x.length > 1 && x.every((o, i) => o === x[0] + i);
  const segments = z.flatMap((i) =>
    y.flatMap((j) =>
      (joined ? x.slice(0, 1) : x).map((k) => i * step[0] + j * step[1] + k * step[2])
    )
  );
  return { segments, length: joined ? x.length * channels : channels };
}
