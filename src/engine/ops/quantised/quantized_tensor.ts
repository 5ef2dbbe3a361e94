/** QuantizedTensor: a matrix as levels of a few bits in blocks, with a scale and a zero for each block. */
import { wantMade } from "../../core/arguments.ts";
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { CompositeSpec, CompositeTensor, noRule } from "../../core/composite.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import { UnimplementedError, ValueError } from "../../core/errors.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TensorSpec } from "../../core/tensor_spec.ts";
import type { LevelsLayout } from "../../kernels/matmul/levels_layout.ts";
import { gather } from "../array/gather.ts";
import { transpose } from "../array/move.ts";
import { range } from "../array/ranges.ts";
import { expandDims, identity, literalInts, reshape, shape as shapeOf } from "../array/view.ts";
import { concat } from "../array/join.ts";
import { asTensor, castInput, shapeOfInput, toIndexInput } from "../input.ts";
import { mul, sub } from "../pointwise/arithmetic.ts";
import { bitwiseAnd, rightShift } from "../pointwise/logical.ts";
import { dequantised } from "./levels.ts";
import { QuantizedMatMul } from "./matmul.ts";

/** The form of a quantised tensor: all that its three tensors do not say. */
export interface QuantizedForm extends LevelsLayout {
  /** Shape of the matrix. */
  readonly shape: readonly [number, number];
  /** Element type of the dequantised matrix. */
  readonly dtype: DType;
  /** Axis along which blocks lie: -2, as `matMul` sums, or -1. */
  readonly axis: -1 | -2;
  /** True where all blocks have one zero. */
  readonly isSymmetric: boolean;
}

/** The spec of a {@linkcode QuantizedTensor}. */
export class QuantizedTensorSpec extends CompositeSpec {
  /** @internal Its form. */
  readonly form: QuantizedForm;
  /** Specs of levels, scales and zeros. */
  readonly components: readonly TensorSpec[];

  /** @internal Made by a tensor's `spec`. */
  constructor(form: QuantizedForm) {
    super();
    wantMade(form, "shape", {
      arg: "form",
      fn: "new QuantizedTensorSpec()",
      wanted: "that of a quantised tensor, whose spec is made by itself",
    });
    this.form = form;
    const { shape, axis, bits, block, isSymmetric } = form;
    const [rows, inner] = axis === -1 ? shape : [shape[1], shape[0]];
    const blocks = Math.ceil(inner / block);
    this.components = [
      TensorSpec([rows, blocks, block * bits / 32], "int32"),
      TensorSpec([rows, blocks], "float32"),
      TensorSpec(isSymmetric ? [] : [rows, blocks], "float32"),
    ];
  }

  /** Equal for tensors of one form. */
  get kind(): string {
    const { bits, block, axis, dtype, isSymmetric, shape } = this.form;
    return `quantized ${bits} ${block} ${axis} ${dtype} ${isSymmetric} ${shape}`;
  }
  /** True for specs of the same form. */
  isCompatibleWith(other: QuantizedTensorSpec): boolean {
    wantMade(other, "kind", { arg: "other", fn: "isCompatibleWith", wanted: "a spec" });
    return other.kind === this.kind;
  }
  /** Packs levels, scales and zeros. */
  pack(components: readonly unknown[]): QuantizedTensor {
    return new QuantizedTensor(components as readonly Tensor[], this.form);
  }
  /** Text: `4-bit float32[64,32] in blocks of 32`. */
  override toString(): string {
    const { bits, block, dtype, shape } = this.form;
    return `${bits}-bit ${dtype}${shapeText(shape)} in blocks of ${block}`;
  }
}

/**
 * A matrix as whole numbers of 4 or 8 bits: an element is `(level - zero) * scale`, with a scale and a zero for each block along an
 * axis. Made by {@linkcode quantize}; `matMul` takes it as its second operand, `gather` as its first, and neither makes the whole
 * matrix where blocks lie along the axis that they read. Other ops throw `TypeError`; {@linkcode dequantize} gives them a tensor.
 * Functions, branches, loops and tapes take and give it. ONNX's `MatMulNBits` and the blocks of GGUF have the same levels.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const w = tf.quantize(tf.ones([64, 32]), { bits: 4 });
 * console.log(String(w)); // QuantizedTensor(4-bit float32[64,32] in blocks of 32)
 * console.log(tf.matMul(tf.ones([1, 64]), w).shape); // [ 1, 32 ]
 * ```
 */
export class QuantizedTensor extends CompositeTensor {
  /** Levels, scales and zeros. */
  readonly components: readonly Tensor[];
  /** @internal Its form. */
  readonly form: QuantizedForm;

  /** @internal Made by {@linkcode quantize} and by readers of files. */
  constructor(components: readonly Tensor[], form: QuantizedForm) {
    super();
    this.components = components;
    wantMade(form, "shape", {
      arg: "form",
      fn: "new QuantizedTensor()",
      wanted: "of tf.quantize(), which makes these",
    });
    this.form = form;
  }

  /** Element type of the dequantised matrix. */
  get dtype(): DType {
    return this.form.dtype;
  }
  /** Shape of the matrix. */
  get shape(): readonly [number, number] {
    return this.form.shape;
  }
  /** Bits of a level: 4 or 8. */
  get bits(): number {
    return this.form.bits;
  }
  /** Levels of a block. */
  get block(): number {
    return this.form.block;
  }
  /** Axis along which blocks lie. */
  get axis(): -1 | -2 {
    return this.form.axis;
  }
  /** Levels as words of 32 bits, `[rows, blocks, words]`; rows are columns of the matrix where blocks lie along axis -2. */
  get levels(): Tensor {
    return this.components[0];
  }
  /** Scale of each block. */
  get scales(): Tensor {
    return this.components[1];
  }
  /** Zero of each block, or one for all. */
  get zeros(): Tensor {
    return this.components[2];
  }
  /** Its spec. */
  get spec(): QuantizedTensorSpec {
    return new QuantizedTensorSpec(this.form);
  }

  /** Returns the numbers of its rows. */
  rowNumbers(): Tensor {
    return range(0, this.shape[0], 1, "int32");
  }
  /** Returns row `i`, dequantised. */
  row(i: TensorLike): Tensor {
    return compose(() =>
      this.#picked(asTensor(castInput(toIndexInput(i, "i", "row"), "int32")), 0)
    );
  }
  /** Returns the matrix, dequantised. */
  dequantize(): Tensor {
    return compose(() => {
      const [rows, inner] = this.#stored(), { axis, dtype } = this.form;
      const matrix = reshape(dequantised(this.components, { ...this.form, inner }), [rows, inner]);
      return asTensor(castInput(axis === -1 ? matrix : transpose(matrix), dtype));
    });
  }

  /** @internal Products, gathers, and what keeps the form. */
  override applyOp(def: OpDef, inputs: readonly unknown[], attrs: Attrs): readonly unknown[] {
    switch (def.name) {
      case "MatMul":
      case "BatchMatMulV2":
        return [compose(() => this.#product(def, inputs, attrs))];
      case "GatherV2": {
        const [, indices, axis] = inputs as readonly OpInput[], [at] = literalInts(axis) ?? [];
        if (at === undefined || attrs.batch_dims !== 0) {
          throw new UnimplementedError(
            `Cannot gather from ${this} with batchDims ${attrs.batch_dims} along axis ${
              at ?? "unknown"
            }: use tf.dequantize()`,
          );
        }
        return [
          compose(() => this.#picked(asTensor(castInput(indices, "int32")), normalizeAxis(at, 2))),
        ];
      }
      case "Identity":
      case "StopGradient":
        return [this.#like(this.form, def)];
      case "Cast":
        if (DTYPES[attrs.DstT as DType].kind === "float") {
          return [this.#like({ ...this.form, dtype: attrs.DstT })];
        }
    }
    throw noRule(def, this, "the op takes no quantised tensors, use tf.dequantize()");
  }

  /** Returns handles of its own for another owner. */
  #like(form: QuantizedForm, def?: OpDef): QuantizedTensor {
    const parts = this.components.map((t) => def ? apply1(def, [t]) : identity(t));
    return new QuantizedTensor(parts, form);
  }

  /** Returns the number of stored rows, and their length. */
  #stored(): readonly [number, number] {
    const [rows, columns] = this.shape;
    return this.axis === -1 ? [rows, columns] : [columns, rows];
  }

  #product(def: OpDef, [a, b]: readonly unknown[], attrs: Attrs): Tensor {
    const [transA, transB] = [attrs.transpose_a ?? attrs.adj_x, attrs.transpose_b ?? attrs.adj_y];
    const dense = (x: unknown): Tensor =>
      x instanceof QuantizedTensor ? x.dequantize() : x as Tensor;
    if (b !== this || a instanceof CompositeTensor || this.axis !== (transB ? -1 : -2)) {
      return apply1(def, [dense(a), dense(b)], attrs);
    }
    const x = asTensor(a as OpInput), rank = x.staticShape?.length;
    const [, inner] = this.#stored();
    if (rank === undefined) return apply1(def, [x, this.dequantize()], attrs);
    const last = Array.from({ length: rank }, (_, i) => i);
    const rows = transA ? transpose(x, [...last.slice(0, -2), rank - 1, rank - 2]) : x;
    const own = rows.staticShape!.at(-1);
    if (own !== null && own !== inner) {
      throw new ValueError(
        `Cannot multiply ${x} by ${this} in matMul: inner dimensions must be equal, received ${own} and ${inner}`,
      );
    }
    if (own === null) return apply1(def, [x, this.dequantize()], attrs);
    const { bits, block } = this.form;
    return apply1(QuantizedMatMul, [rows, ...this.components], { bits, block, inner });
  }

  /** Returns rows or columns by their numbers. */
  #picked(indices: Tensor, axis: number): Tensor {
    const [, inner] = this.#stored(), { bits, block, shape, dtype } = this.form;
    const [levels, scales, zeros] = this.components, isOne = zeros.staticShape!.length === 0;
    const at = reshape(indices, [-1]), alongRows = axis === (this.axis === -1 ? 0 : 1);
    let picked: Tensor;
    if (alongRows) {
      const parts = [gather(levels, at), gather(scales, at), isOne ? zeros : gather(zeros, at)];
      picked = dequantised(parts, { ...this.form, inner });
    } else {
      // One level of each row for each index.
      const per = 32 / bits, rows = levels.staticShape![0]!;
      const within = bitwiseAnd(at, per - 1), inBlock = rightShift(at, Math.log2(block));
      const words = gather(reshape(levels, [rows, -1]), rightShift(at, Math.log2(per)), 1);
      const level = bitwiseAnd(rightShift(words, mul(within, bits)), 2 ** bits - 1);
      const zero = isOne ? zeros : gather(zeros, inBlock, 1);
      picked = mul(sub(castInput(level, "float32") as Tensor, zero), gather(scales, inBlock, 1));
    }
    const isFirst = alongRows === (axis === 0);
    const lines = asTensor(castInput(isFirst ? picked : transpose(picked), dtype));
    const own = shapeOfInput(indices), other = shape[1 - axis];
    if (own?.every((d) => d !== null)) {
      const dims = own as readonly number[];
      return reshape(lines, axis === 0 ? [...dims, other] : [other, ...dims]);
    }
    const known = expandDims(other, 0), front = shapeOf(indices);
    return reshape(
      lines,
      concat(axis === 0 ? [front, known] : [known, front]) as unknown as number[],
    );
  }

  /** Text: `QuantizedTensor(4-bit float32[64,32] in blocks of 32)`. */
  override toString(): string {
    return `QuantizedTensor(${this.spec})`;
  }
}
