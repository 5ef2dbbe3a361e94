/**
 * Bands of diagonals of matrices on the host: extracted and inserted. Diagonals of different lengths are padded to rows
 * of one length.
 */
import { type NdArray, setElement } from "../../core/nd_array.ts";

/** Diagonals `lower` to `upper` of matrices: 0 is the main one, positive ones are above it. */
export interface Band {
  readonly lower: number;
  readonly upper: number;
  /** Extents of the matrices. */
  readonly rows: number;
  readonly columns: number;
  /**
   * Alignment of the shorter ones, those above first: `"RIGHT_LEFT"`, `"LEFT_RIGHT"`, `"LEFT_LEFT"`, `"RIGHT_RIGHT"`.
   */
  readonly align: string;
}

/** Length of the longest diagonal. */
export function longest({ lower, upper, rows, columns }: Band): number {
  return Math.min(rows + Math.min(upper, 0), columns - Math.max(lower, 0));
}

/** Returns for each slot of the diagonals' rows, the topmost first, its position in the matrix, -1 for padding. */
function placesOf(band: Band): Int32Array {
  const { lower, upper, rows, columns, align } = band;
  const length = longest(band), places = new Int32Array((upper - lower + 1) * length).fill(-1);
  const [above, below] = align.split("_").map((side) => side === "RIGHT");
  for (let d = upper, slot = 0; d >= lower; d--, slot += length) {
    const y = Math.max(-d, 0), x = Math.max(d, 0), own = Math.min(rows - y, columns - x);
    const isRight = (above && d >= 0) || (below && d <= 0), start = isRight ? length - own : 0;
    for (let i = 0; i < own; i++) places[slot + start + i] = (y + i) * columns + x + i;
  }
  return places;
}

export function diagonalsOf(x: NdArray, padding: NdArray, out: NdArray, band: Band): void {
  const places = placesOf(band), size = band.rows * band.columns;
  for (let i = 0; i < out.size; i++) {
    const place = places[i % places.length], matrix = Math.floor(i / places.length) * size;
    setElement(out, i, place < 0 ? padding.at(0) : x.at(matrix + place));
  }
}

/** Writes diagonals into each matrix, over the contents of `base`: a matrix for each, or one number for all. */
export function putDiagonals(diagonals: NdArray, base: NdArray, out: NdArray, band: Band): void {
  const places = placesOf(band), size = band.rows * band.columns;
  const isNumber = base.rank === 0;
  for (let i = 0; i < out.size; i++) setElement(out, i, base.at(isNumber ? 0 : i));
  for (let i = 0; i < diagonals.size; i++) {
    const place = places[i % places.length], matrix = Math.floor(i / places.length) * size;
    if (place >= 0) setElement(out, matrix + place, diagonals.at(i));
  }
}
