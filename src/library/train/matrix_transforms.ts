/** Transformations of updates of matrices: second moments by rows and columns, and orthogonal updates. */
import { compose } from "../../engine/core/apply.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { expandDims } from "../../engine/ops/array/view.ts";
import { transpose } from "../../engine/ops/array/move.ts";
import { matMul } from "../../engine/ops/linalg/matmul.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { sqrt, square } from "../../engine/ops/pointwise/power.ts";
import { mean, sum } from "../../engine/ops/reduce/reduce.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import type { Stage, StageResult, StageValues } from "./stages.ts";

const isFactored = (v: Variable): boolean => v.rank >= 2;

/**
 * Adafactor's scaling, after Shazeer and Stern: the mean of squares is kept as means of rows and of columns, in a whole where the rank is
 * below 2. The decay of the means is `1 - step ^ decay`.
 */
export function factoredStage(decay: number, epsilon: number): Stage {
  return {
    slots: [
      { name: "r", shape: (v) => isFactored(v) ? v.shape.slice(0, -1) : [] },
      { name: "c", shape: (v) => isFactored(v) ? [...v.shape.slice(0, -2), v.shape.at(-1)!] : [] },
      { name: "v", shape: (v) => isFactored(v) ? [] : v.shape },
    ],
    scalars: ({ step, a }) => [a.sub(a.number(1), a.pow(step, a.number(decay)))],
    each: ({ update, slots: [r, c, v], scalars: [beta] }) => {
      const squares = add(square(update), epsilon);
      const blend = (old: Tensor, now: Tensor): Tensor =>
        add(mul(beta, old), mul(sub(1, beta), now));
      if (update.rank < 2) {
        const next = blend(v, squares);
        return { update: div(update, sqrt(next)), slots: [r, c, next] };
      }
      const rows = blend(r, mean(squares, -1)), columns = blend(c, mean(squares, -2));
      const share = expandDims(div(rows, mean(rows, -1, true)), -1);
      const next = mul(share, expandDims(columns, -2));
      return { update: div(update, sqrt(next)), slots: [rows, columns, v] };
    },
  };
}

/** Coefficients of the iteration that brings singular values near 1. */
const QUINTIC = [3.4445, -4.775, 2.0315] as const;

/** Returns a matrix of the same singular vectors with singular values near 1, by Newton and Schulz's iteration. */
function orthogonal(x: Tensor, steps: number): Tensor {
  const [rows, columns] = x.shape, isTall = rows > columns;
  const [a, b, c] = QUINTIC;
  let y = isTall ? transpose(x) : x;
  y = div(y, add(sqrt(sum(square(y))), 1e-7));
  for (let i = 0; i < steps; i++) {
    const gram = matMul(y, y, false, true);
    const polynomial = add(mul(gram, b), mul(matMul(gram, gram), c));
    y = add(mul(y, a), matMul(polynomial, y));
  }
  return isTall ? transpose(y) : y;
}

/** Settings of Muon's scaling. */
export interface MuonSettings {
  readonly momentum: number;
  readonly nesterov: boolean;
  readonly steps: number;
  /** Root mean square of the update; 0 leaves the orthogonal matrix as it is. */
  readonly rmsRate: number;
}

/** Muon's scaling of matrices: momentum, made orthogonal. */
export function muonStage({ momentum, nesterov, steps, rmsRate }: MuonSettings): Stage {
  return {
    slots: [{ name: "momentum" }],
    each: ({ update, slots: [kept] }: StageValues): StageResult => {
      const next = add(mul(kept, momentum), update);
      const direction = nesterov ? add(update, mul(next, momentum)) : next;
      const scale = rmsRate === 0 ? 1 : Math.sqrt(Math.max(...update.shape)) * rmsRate;
      const moved = compose(() => mul(orthogonal(direction, steps), scale));
      return { update: moved, slots: [next] };
    },
  };
}
