/**
 * Ops on the indices, values and dense shapes of sparse tensors: products with dense matrices, sums with dense tensors,
 * joins along an axis. They run on the device of the values.
 */
import { apply, apply1 } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { gather, gatherND } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { transpose } from "../array/move.ts";
import { scatterND, tensorScatterAdd } from "../array/scatter.ts";
import { expandDims, knownInts, literalInts } from "../array/view.ts";
import { asTensor, intScalar, intVector, shapeOfInput } from "../input.ts";
import { add, conjugate, mul } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";
import { sameVector } from "./same_vector.ts";
import { SparseReorder } from "./sparse_parts.ts";

/** Flags of a product, and known properties of its operands. */
interface Product {
  readonly dims: readonly (number | null)[] | undefined;
  readonly b: PartialShape;
  readonly adjointA: boolean;
  readonly adjointB: boolean;
}

/** Returns rows and columns of a product. Throws `ValueError` where the operands do not fit. */
function productShape({ dims, b, adjointA, adjointB }: Product): [number | null, number | null] {
  if (dims !== undefined && dims.length !== 2) {
    throw new ValueError(
      `Cannot multiply matrices: the sparse operand must have rank 2, received shape ${
        shapeText(dims)
      }`,
    );
  }
  if (b !== null && b.length !== 2) {
    throw new ValueError(
      `Cannot multiply matrices: the dense operand must have rank 2, received shape ${
        shapeText(b)
      }`,
    );
  }
  const [rows, inner] = adjointA ? dims?.toReversed() ?? [null, null] : dims ?? [null, null];
  const [height, columns] = adjointB ? b?.toReversed() ?? [null, null] : b ?? [null, null];
  if (inner === null || height === null || inner === height) return [rows, columns];
  throw new ValueError(
    `Cannot multiply A and B because inner dimension does not match: ${inner} vs. ${height}. Did you forget a transpose? ` +
      `Dimensions of A: ${shapeText(adjointA ? [inner, rows] : [rows, inner])}. ` +
      `Dimensions of B: ${shapeText(b)}`,
  );
}

/** Returns for each element the row that its product is added to, and the row of `b` that it multiplies. */
function placesOf(indices: Tensor, adjointA: boolean): [Tensor, Tensor] {
  const at = cast(indices, "int32");
  const [rows, columns] = [0, 1].map((k) => gather(at, k, 1));
  return adjointA ? [columns, rows] : [rows, columns];
}

export const SparseTensorDenseMatMul: OpDef = defineOp({
  name: "SparseTensorDenseMatMul",
  inputs: ["a_indices: Tindices", "a_values: T", "a_shape: int64", "b: T"],
  outputs: ["product: T"],
  attrs: [
    "adjoint_a: bool = false",
    "adjoint_b: bool = false",
    "T: numeric",
    "Tindices: index = int64",
  ],
  hostInputs: ["a_shape"],
  infer: ([, , dims, b], { adjoint_a, adjoint_b }) => [
    productShape({
      dims: knownInts(dims),
      b: b.shape,
      adjointA: adjoint_a === true,
      adjointB: adjoint_b === true,
    }),
  ],
  grad: {
    saves: ["a_indices", "a_values", "a_shape", "b"],
    vjp: ({ a_indices, a_values, a_shape, b }, [dy], { attrs, needs }) => {
      const { adjoint_a, adjoint_b } = attrs;
      let dvalues: Tensor | null = null, db: Tensor | null = null;
      if (needs[1]) {
        const [rows, columns] = placesOf(a_indices, adjoint_a === true);
        const dense = adjoint_b ? transpose(b, [1, 0]) : conjugate(b);
        const slopes = sum(mul(gather(dy, rows), gather(dense, columns)), 1);
        dvalues = adjoint_a ? conjugate(slopes) : slopes;
      }
      if (needs[3]) {
        const flags = { adjoint_a: !adjoint_a, adjoint_b: false };
        const whole = apply1(SparseTensorDenseMatMul, [a_indices, a_values, a_shape, dy], flags);
        db = adjoint_b ? transpose(whole, [1, 0], true) : whole;
      }
      return [null, dvalues, null, db];
    },
  },
  expand: ([indices, values, dims, b], { adjoint_a, adjoint_b }) => {
    const adjointA = adjoint_a === true, adjointB = adjoint_b === true;
    const known = { dims: literalInts(dims), b: shapeOfInput(b), adjointA, adjointB };
    const [height, width] = productShape(known) as [number, number];
    const [rows, columns] = placesOf(asTensor(indices), adjointA);
    const dense = asTensor(b), own = asTensor(values);
    const turned = adjointB ? transpose(dense, [1, 0], true) : dense;
    const factors = adjointA ? conjugate(own) : own;
    const products = mul(gather(turned, columns), expandDims(factors, 1));
    const shape = intVector([height, width]);
    return [scatterND(expandDims(rows, 1), products, shape)];
  },
});

/** Throws `ValueError` where a dense operand's shape differs from the sparse one's. */
function wantSameShape(dims: readonly number[] | undefined, b: PartialShape): void {
  if (dims === undefined || compatible(dims, b)) return;
  throw new ValueError(
    `Cannot add a sparse and a dense tensor: shapes must be equal, received ${
      shapeText(dims)
    } and ${shapeText(b)} (no broadcasting is supported)`,
  );
}

export const SparseTensorDenseAdd: OpDef = defineOp({
  name: "SparseTensorDenseAdd",
  inputs: ["a_indices: Tindices", "a_values: T", "a_shape: Tindices", "b: T"],
  outputs: ["output: T"],
  attrs: ["T: numeric", "Tindices: index"],
  hostInputs: ["a_shape"],
  infer: ([, , dims, b]) => {
    wantSameShape(knownInts(dims), b.shape);
    return [b.shape];
  },
  grad: {
    saves: ["a_indices"],
    vjp: ({ a_indices }, [dy]) => [null, gatherND(dy, a_indices), null, dy],
  },
  expand: ([indices, values, dims, b]) => {
    wantSameShape(literalInts(dims), shapeOfInput(b));
    return [tensorScatterAdd(asTensor(b), cast(asTensor(indices), "int32"), asTensor(values))];
  },
});

/** Returns the parts of a sparse tensor, with indices and shape as int64. */
export type SparseParts = readonly [indices: Tensor, values: Tensor, denseShape: Tensor];

const UNEQUAL =
  "Cannot join sparse tensors: their shapes must be equal but for the axis, which is 0 here: received";

/**
 * Joins sparse tensors along an axis, in the order of their places. The other dimensions are those of the first; with
 * `check`, running it throws `InvalidArgumentError` where they differ.
 */
export function joinSparse(
  parts: readonly SparseParts[],
  { axis, rank, check }: { readonly axis: number; readonly rank: number; readonly check: boolean },
): SparseParts {
  const unit = Array.from({ length: rank }, (_, d) => Number(d === axis));
  const along = cast(unit, "int64"), at = intScalar(axis);
  const [[first, , extents]] = parts;
  let end = gather(extents, at);
  const places = [first], across = cast(unit.map((v) => 1 - v), "int64");
  let others = mul(extents, across);
  for (const [indices, , dims] of parts.slice(1)) {
    if (check) others = sameVector(others, mul(dims, across), UNEQUAL);
    places.push(add(indices, mul(end, along)));
    end = add(end, gather(dims, at));
  }
  const shape = add(others, mul(end, along));
  const inputs = [concat(places), concat(parts.map(([, values]) => values)), shape];
  const [indices, values] = apply(SparseReorder, inputs);
  return [indices, values, shape];
}
