/** Linear systems, inverses, determinants and triangular factors in vector code, with sums in float64. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { MeaningOf } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { Block } from "./block.ts";
import { Factors } from "./factors.ts";
import { prepareCholesky, prepareSubstitution } from "./triangles.ts";

/** Least rows that vector code is worth. */
const LEAST_ROWS = 4;

/** Prepares a solver; null for small matrices, and dtypes that loops take. */
export function prepareElimination(
  engine: Engine,
  problem: Problem,
  { gives }: MeaningOf<"elimination">,
): FastRun | null {
  const { inputs: [{ dtype }], outputs } = problem;
  if (dtype !== "float32" && dtype !== "float64") return null;
  if (gives === "substitution") return prepareSubstitution(engine, problem, dtype);
  if (gives === "cholesky") return prepareCholesky(engine, problem, dtype);
  if (gives === "factors" && outputs[1].dtype !== "int32") return null;
  return prepareFactors(engine, problem, { gives, dtype });
}

/** The errors for singular matrices, as loops throw them. */
const ERRORS = {
  solution: "Input matrix is not invertible",
  inverse: "Input is not invertible",
  factors: "Input is not invertible.",
};

function prepareFactors(
  engine: Engine,
  { inputs, outputs, attrs }: Problem,
  { gives, dtype }: {
    readonly gives: keyof typeof ERRORS | "determinant" | "log determinant";
    readonly dtype: "float32" | "float64";
  },
): FastRun | null {
  const { shape } = inputs[0], n = shape[shape.length - 1];
  if (n < LEAST_ROWS) return null;
  const count = sizeOf(shape.slice(0, -2)), { heap } = engine;
  const isSolved = gives === "solution" || gives === "inverse";
  const columns = isSolved ? outputs[0].shape[shape.length - 1] : 0;
  const factors = new Factors(engine, dtype, n), rhs = new Block(engine, dtype, n, columns);
  const bytes = dtype === "float64" ? 8 : 4, row = bytes * n;
  const steps = attrs.adjoint ? [row, bytes] as const : [bytes, row] as const;
  return ([to, other], [from, right]) =>
    heap.lend(factors.bytes + rhs.bytes, (at) => {
      factors.moveTo(at);
      rhs.moveTo(at + factors.bytes);
      const size = sizeOf(outputs[0].shape), memory = heap.memory.buffer;
      const output = (p: Pointer): Float32Array | Float64Array =>
        dtype === "float64" ? new Float64Array(memory, p, size) : new Float32Array(memory, p, size);
      for (let z = 0; z < count; z++) {
        const isRegular = factors.of(from + z * n * row, steps);
        if (gives === "determinant") {
          const [sign, size] = isRegular ? factors.determinant(false) : [0, 0];
          output(to)[z] = sign * size;
          continue;
        }
        if (gives === "log determinant") {
          const [sign, size] = isRegular ? factors.determinant(true) : [0, -Infinity];
          output(to)[z] = sign;
          output(other)[z] = size;
          continue;
        }
        if (!isRegular) throw new InvalidArgumentError(ERRORS[gives]);
        const own = to + z * bytes * n * columns;
        if (gives === "factors") {
          factors.unpack(to + z * n * row, steps);
          heap.i32.set(factors.order(), other / 4 + z * n);
        } else if (gives === "inverse") {
          factors.invert(rhs);
          factors.putInOrder(rhs, output(to), z * n * n);
        } else {
          rhs.pack(right + z * bytes * n * columns, [bytes, bytes * columns]);
          factors.solve(rhs);
          rhs.unpack(own, [bytes, bytes * columns]);
        }
      }
    });
}
