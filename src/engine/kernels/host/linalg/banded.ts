/** Triangular systems whose matrices have few diagonals, on the host. Sums in float64. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import { broadcastStrides, sizeOf } from "../../../core/shape.ts";
import type { Numbers } from "../matmul.ts";

/** Form of the matrices. */
export interface BandedForm {
  readonly lower: boolean;
  readonly adjoint: boolean;
}

/**
 * Solves for `[..., m, n]` right sides by bands `[..., k, m]`, topmost first, of which those below the diagonal begin, and those above end,
 * with elements that are not read. The batches broadcast.
 */
export function bandedSolveCpu(bands: NdArray, rhs: NdArray, out: NdArray, form: BandedForm): void {
  const { lower, adjoint } = form, [k, m] = bands.shape.slice(-2), n = rhs.shape.at(-1)!;
  const batch = out.shape.slice(0, -2), count = sizeOf(batch);
  const [ofBands, ofRhs] = [bands, rhs].map((x) => broadcastStrides(x.shape.slice(0, -2), batch));
  const from = bands.data as Numbers, right = rhs.data as Numbers, to = out.data as Numbers;
  const x = new Float64Array(m * n), main = lower ? 0 : k - 1;
  // An adjoint turns a lower triangle into an upper one.
  const goesDown = lower !== adjoint;
  for (let z = 0; z < count; z++) {
    let a = 0, b = 0;
    for (let d = batch.length - 1, rest = z; d >= 0; d--) {
      const i = rest % batch[d];
      rest = Math.floor(rest / batch[d]);
      a += i * ofBands[d];
      b += i * ofRhs[d];
    }
    const first = a * k * m, start = b * m * n;
    // The element at row i and column j of the matrix that is solved.
    const element = (i: number, j: number): number => {
      const [row, column] = adjoint ? [j, i] : [i, j];
      return from[first + (main + row - column) * m + row];
    };
    for (let step = 0; step < m; step++) {
      const i = goesDown ? step : m - 1 - step, pivot = element(i, i);
      if (pivot === 0) throw new InvalidArgumentError("Input matrix is not invertible");
      for (let c = 0; c < n; c++) {
        let sum = right[start + i * n + c];
        for (let o = 1; o < k && o <= step; o++) {
          const j = goesDown ? i - o : i + o;
          sum -= element(i, j) * x[j * n + c];
        }
        x[i * n + c] = sum / pivot;
      }
    }
    for (let i = 0; i < m * n; i++) to[z * m * n + i] = x[i];
  }
}
