/** Products of matrices: matMul, dot, outerProduct. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import type { Dequantized, Like, Operand } from "../../core/composite.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { broadcastShapes, isConcrete, type PartialShape, shapeText } from "../../core/shape.ts";
import { type Spec, specText } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { matMulCpu } from "../../kernels/host/matmul.ts";
import { matMulShape } from "../../kernels/matmul/shape.ts";
import { reshape } from "../array/view.ts";
import {
  asTensor,
  castInput,
  disposeConverted,
  shapeOfInput,
  toInput,
  toMatchingInputs,
} from "../input.ts";
import { conjugate } from "../pointwise/arithmetic.ts";

const TYPES =
  "{bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}";

/** Returns the shape of a product; `exact` requires rank 2. Throws `ValueError` where the shapes do not fit. */
export function productShape(
  op: string,
  a: Spec,
  b: Spec,
  transA: boolean,
  transB: boolean,
  exact: boolean,
): PartialShape {
  for (const [name, x] of [["a", a], ["b", b]] as const) {
    if (x.shape === null) continue;
    if (exact ? x.shape.length !== 2 : x.shape.length < 2) {
      throw new ValueError(
        `Shape must be ${
          exact ? "rank 2" : "at least rank 2"
        } but is rank ${x.shape.length} for input '${name}' of ${op}: received ${specText(x)}`,
      );
    }
  }
  if (a.shape === null || b.shape === null) {
    return exact ? [rows(a.shape, transA), rows(b.shape, !transB)] : null;
  }
  const inner = [rows(a.shape, !transA), rows(b.shape, transB)];
  if (inner[0] !== null && inner[1] !== null && inner[0] !== inner[1]) {
    throw new ValueError(
      `Cannot multiply ${specText(a)} by ${specText(b)} in ${op}${
        transA || transB ? ` with transposes ${transA} and ${transB}` : ""
      }: inner dimensions must be equal, received ${inner[0]} and ${inner[1]}`,
    );
  }
  const batch = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2));
  return [...batch!, rows(a.shape, transA), rows(b.shape, !transB)];
}

function rows(shape: PartialShape, last: boolean): number | null {
  return shape === null ? null : shape[shape.length - (last ? 1 : 2)];
}

export const MatMul: OpDef = defineOp({
  name: "MatMul",
  inputs: ["a: T", "b: T"],
  outputs: ["product: T"],
  attrs: ["transpose_a: bool = false", "transpose_b: bool = false", `T: ${TYPES}`],
  meaning: { kind: "product", fuses: true },
  infer: (
    [a, b],
    { transpose_a, transpose_b },
  ) => [productShape("MatMul", a, b, transpose_a, transpose_b, true)],
  grad: {
    saves: ["a", "b"],
    vjp: ({ a, b }, [dy], { attrs, needs }) => {
      const { transpose_a: ta, transpose_b: tb } = attrs;
      const x = needs[1] ? conjugate(a) : a, y = needs[0] ? conjugate(b) : b;
      const by = (p: Tensor, q: Tensor, transpose_a: boolean, transpose_b: boolean): Tensor =>
        apply1(MatMul, [p, q], { transpose_a, transpose_b });
      return [
        !needs[0] ? null : ta ? by(y, dy, tb, true) : by(dy, y, false, !tb),
        !needs[1] ? null : tb ? by(dy, x, true, ta) : by(x, dy, !ta, false),
      ];
    },
  },
  cpu: ([a, b], [out], { attrs }) =>
    matMulCpu(
      matMulShape(a.shape, b.shape, out.shape, attrs.transpose_a, attrs.transpose_b),
      a,
      b,
      out,
    ),
});

function defineBatched(name: string): OpDef {
  const def: OpDef = defineOp({
    name,
    inputs: ["x: T", "y: T"],
    outputs: ["output: T"],
    attrs: [`T: ${TYPES}`, "adj_x: bool = false", "adj_y: bool = false"],
    meaning: { kind: "product", fuses: true },
    infer: ([x, y], { adj_x, adj_y }) => [productShape(name, x, y, adj_x, adj_y, false)],
    grad: {
      saves: ["x", "y"],
      vjp: ({ x, y }, [dy], { attrs, needs, sumLike }) => {
        const { adj_x: ax, adj_y: ay } = attrs;
        const by = (p: Tensor, q: Tensor, adj_x: boolean, adj_y: boolean): Tensor =>
          apply1(def, [p, q], { adj_x, adj_y });
        return [
          !needs[0] ? null : sumLike(ax ? by(y, dy, ay, true) : by(dy, y, false, !ay), 0),
          !needs[1] ? null : sumLike(ay ? by(dy, x, true, ax) : by(x, dy, !ax, false), 1),
        ];
      },
    },
    cpu: ([x, y], [out], { attrs: { adj_x, adj_y } }) =>
      matMulCpu(matMulShape(x.shape, y.shape, out.shape, adj_x, adj_y), x, y, out, adj_x, adj_y),
  });
  return def;
}
defineBatched("BatchMatMul");
export const BatchMatMulV2: OpDef = defineBatched("BatchMatMulV2");

function product(a: OpInput, b: OpInput, transA: boolean, transB: boolean): Tensor {
  const [p, q] = [shapeOfInput(a), shapeOfInput(b)];
  if (p?.length === 2 && q?.length === 2) {
    return apply1(MatMul, [a, b], { transpose_a: transA, transpose_b: transB });
  }
  if (isConcrete(p) && isConcrete(q) && p.length > 2 && q.length === 2 && !transA) {
    // One product of all rows: its gradient for `b` needs no sum over the batch.
    const flat = reshape(asTensor(a), [-1, p[p.length - 1]]);
    if (p.includes(0) || p[p.length - 1] !== q[transB ? 1 : 0]) {
      return batched(a, b, transA, transB);
    }
    return reshape(product(flat, b, false, transB), [...p.slice(0, -1), q[transB ? 0 : 1]]);
  }
  return batched(a, b, transA, transB);
}

function batched(a: OpInput, b: OpInput, transA: boolean, transB: boolean): Tensor {
  const conj = (x: OpInput, trans: boolean): OpInput =>
    // BatchMatMulV2 conjugates transposed operands; a product does not.
    trans && (x.dtype === "complex64" || x.dtype === "complex128") ? conjugate(asTensor(x)) : x;
  return apply1(BatchMatMulV2, [conj(a, transA), conj(b, transB)], {
    adj_x: transA,
    adj_y: transB,
  });
}

/**
 * Matrix product. Axes before the last two are batches, which broadcast; dtypes are brought to the wider one. Either may be a
 * {@linkcode QuantizedTensor}.
 * TensorFlow ops `MatMul` (rank 2) and `BatchMatMulV2`. Throws `ValueError` where inner dimensions differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const a = tf.tensor([[1, 2], [3, 4]]);
 * console.log(tf.matMul(a, a).arraySync()); // [[7, 10], [15, 22]]
 * console.log(tf.matMul(a, [[1, 1]], false, true).arraySync()); // [[3], [7]]
 * ```
 */
export function matMul<X extends Operand, Y extends Operand>(
  a: X,
  b: Y,
  transposeA = false,
  transposeB = false,
): Like<Dequantized<X>, Dequantized<Y>> {
  const given = [a, b] as unknown as [TensorLike, TensorLike],
    [x, y] = matrices(...given, "matMul");
  try {
    return product(x, y, transposeA, transposeB) as Like<Dequantized<X>, Dequantized<Y>>;
  } finally {
    disposeConverted([x, y], given);
  }
}

/** Converts two operands to one numeric dtype. */
export function matrices(a: TensorLike, b: TensorLike, fn: string): [OpInput, OpInput] {
  const [x, y] = toMatchingInputs(a, b, fn);
  return x.dtype === "bool" ? [castInput(x, "int32"), castInput(y, "int32")] : [x, y];
}

/**
 * Dot product of vectors, matrix times vector, or matrix product, by rank. Follows TensorFlow.js `dot`; a `MatMul`.
 * Throws `ValueError` for ranks other than 1 and 2 and where inner dimensions differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.dot([1, 2], [3, 4]).item()); // 11
 * console.log(tf.dot([[1, 2], [3, 4]], [1, 1]).arraySync()); // [3, 7]
 * ```
 */
export function dot(t1: TensorLike, t2: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = toMatchingInputs(t1, t2, "dot", ["t1", "t2"]).map((t) =>
      t.dtype === "bool" ? castInput(t, "int32") : t
    );
    const p = shapeOfInput(x), q = shapeOfInput(y);
    for (const s of [p, q]) {
      if (s === null || s.length < 1 || s.length > 2) {
        throw new ValueError(
          `Cannot take dot: inputs must be rank 1 or 2, received ${shapeText(p)} and ${
            shapeText(q)
          }`,
        );
      }
    }
    const [inner1, inner2] = [p![p!.length - 1], q![0]];
    if (inner1 !== null && inner2 !== null && inner1 !== inner2) {
      throw new ValueError(
        `Cannot take dot: inner dimensions must be equal, received ${inner1} and ${inner2}`,
      );
    }
    const left = p!.length === 1 ? reshape(asTensor(x), [1, -1]) : x;
    const right = q!.length === 1 ? reshape(asTensor(y), [-1, 1]) : y;
    const result = product(left, right, false, false);
    if (p!.length === 2 && q!.length === 2) return result;
    return reshape(result, p!.length === 1 && q!.length === 1 ? [] : [-1]);
  });
}

/**
 * Outer product of two vectors, `[n]` and `[m]` to `[n, m]`. Follows TensorFlow.js `outerProduct`; a `MatMul`.
 * Throws `ValueError` for other ranks.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.outerProduct([1, 2], [3, 4]).arraySync()); // [[3, 4], [6, 8]]
 * ```
 */
export function outerProduct(v1: TensorLike, v2: TensorLike): Tensor {
  const x = toInput(v1, "v1", "outerProduct"), y = toInput(v2, "v2", "outerProduct");
  const p = shapeOfInput(x), q = shapeOfInput(y);
  if (p?.length !== 1 || q?.length !== 1) {
    throw new ValueError(
      `Cannot take outerProduct: inputs must be rank 1, received ${shapeText(p)} and ${
        shapeText(q)
      }`,
    );
  }
  return compose(() => matMul(reshape(asTensor(x), [-1, 1]), reshape(asTensor(y), [1, -1])));
}
