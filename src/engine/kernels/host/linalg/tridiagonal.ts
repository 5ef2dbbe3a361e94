/** Systems of three diagonals on the host: elimination in float64, with the larger pivot of two rows. */
import type { NdArray } from "../../../core/nd_array.ts";
import type { Numbers } from "../matmul.ts";

/**
 * Solves for `[..., m, k]` right sides by diagonals `[..., 3, m]`: the upper one, which ends with an unread element, the main one, and
 * the lower one, which begins with one. Without `pivoting` rows stay in their order. A matrix without an inverse gives NaN.
 */
export function tridiagonalSolveCpu(
  diagonals: NdArray,
  rhs: NdArray,
  out: NdArray,
  pivoting: boolean,
): void {
  const [m, k] = rhs.shape.slice(-2), size = m * k, count = size === 0 ? 0 : rhs.size / size;
  const from = diagonals.data as Numbers, right = rhs.data as Numbers, to = out.data as Numbers;
  const system = new System(m, k);
  for (let z = 0; z < count; z++) {
    system.read(from, 3 * m * z, right, size * z);
    if (!system.solve(pivoting)) system.x.fill(NaN);
    for (let i = 0; i < size; i++) to[size * z + i] = system.x[i];
  }
}

/** A matrix whose rows become those of an upper triangle with three diagonals, and its right sides, which become the solutions. */
class System {
  readonly x: Float64Array;
  readonly #m: number;
  readonly #k: number;
  readonly #lower: Float64Array;
  /** The diagonals from the main one up. */
  readonly #upper: readonly [Float64Array, Float64Array, Float64Array];

  constructor(m: number, k: number) {
    this.#m = m;
    this.#k = k;
    this.x = new Float64Array(m * k);
    this.#lower = new Float64Array(m);
    this.#upper = [new Float64Array(m), new Float64Array(m), new Float64Array(m)];
  }

  read(diagonals: Numbers, at: number, right: Numbers, start: number): void {
    const m = this.#m, [main, above, far] = this.#upper;
    far.fill(0);
    for (let i = 0; i < m; i++) {
      above[i] = i + 1 < m ? diagonals[at + i] : 0;
      main[i] = diagonals[at + m + i];
      this.#lower[i] = i > 0 ? diagonals[at + 2 * m + i] : 0;
    }
    for (let i = 0; i < this.x.length; i++) this.x[i] = right[start + i];
  }

  /** False for a matrix without an inverse. */
  solve(pivoting: boolean): boolean {
    const m = this.#m, k = this.#k, { x } = this, [main, above, far] = this.#upper;
    for (let i = 0; i + 1 < m; i++) {
      if (pivoting && Math.abs(this.#lower[i + 1]) > Math.abs(main[i])) this.#exchange(i);
      if (main[i] === 0) return false;
      const factor = this.#lower[i + 1] / main[i];
      main[i + 1] -= factor * above[i];
      above[i + 1] -= factor * far[i];
      for (let j = 0; j < k; j++) x[(i + 1) * k + j] -= factor * x[i * k + j];
    }
    if (main[m - 1] === 0) return false;
    for (let i = m - 1; i >= 0; i--) {
      for (let j = i * k; j < (i + 1) * k; j++) {
        if (i + 1 < m) x[j] -= above[i] * x[j + k];
        if (i + 2 < m) x[j] -= far[i] * x[j + 2 * k];
        x[j] /= main[i];
      }
    }
    return true;
  }

  /** Exchanges a row and the next, whose first element is in the lower diagonal. */
  #exchange(i: number): void {
    const k = this.#k, { x } = this, [main, above, far] = this.#upper;
    [main[i], this.#lower[i + 1]] = [this.#lower[i + 1], main[i]];
    [above[i], main[i + 1]] = [main[i + 1], above[i]];
    [far[i], above[i + 1]] = [above[i + 1], far[i]];
    for (let j = i * k; j < (i + 1) * k; j++) [x[j], x[j + k]] = [x[j + k], x[j]];
  }
}
