/** Complex numbers as two values of the file, the real and the imaginary part: ONNX's ops take none. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { MeaningOf } from "../../engine/core/meaning.ts";
import type { Attrs } from "../../engine/core/op.ts";
import { broadcastShapes } from "../../engine/core/shape.ts";
import { argument } from "../../engine/core/scalar/expr.ts";
import type { Constants } from "./builder.ts";
import { writeComplexExpr } from "./complex_expressions.ts";
import { filled, shapeOf } from "./helpers.ts";
import { NodeWriter } from "./node_writer.ts";
import { Ref } from "./ref.ts";
import type { WriteRules } from "./rule.ts";

/** The dtype of a complex dtype's parts; a real one is its own. */
function partType(dtype: DType): DType {
  return dtype === "complex64" ? "float32" : dtype === "complex128" ? "float64" : dtype;
}

/** Joins two parts; each is broadcast to the other's shape. */
export function complexOf(n: NodeWriter, re: Ref, im: Ref): Ref {
  const isKnown = re.shape !== null && !re.shape.includes(null);
  if (re.name === im.name || isKnown && String(re.shape) === String(im.shape)) {
    return joined(re, im);
  }
  const shape = broadcastShapes(re.shape, im.shape);
  const to = (x: Ref, other: Ref): Ref =>
    n.node("Expand", [x, shapeOf(n, other)], {}, { shape, operands: [0] });
  return joined(to(re, im), to(im, re));
}

function joined(re: Ref, im: Ref): Ref {
  const dtype = re.dtype === "float64" ? "complex128" : "complex64";
  const ref = new Ref("", dtype, re.shape);
  ref.parts = [re, im];
  return ref;
}

/** Adds a constant to the file; both parts of a complex one. */
export function addConstant(
  constants: Constants,
  value: NdArray,
  name: string,
  options?: { readonly isShared: boolean },
): Ref {
  if (DTYPES[value.dtype].kind !== "complex") return constants.add(value, name, options);
  const pairs = value.data as Float32Array | Float64Array, dtype = partType(value.dtype);
  const part = (k: number): Ref =>
    constants.add(
      new NdArray(dtype, value.shape, pairs.filter((_, i) => i % 2 === k)),
      `${name}/${k === 0 ? "real" : "imag"}`,
      options,
    );
  return joined(part(0), part(1));
}

function zerosLike(n: NodeWriter, x: Ref): Ref {
  return filled(n, shapeOf(n, x), 0, x.dtype);
}

/** Ops that move or sum elements: a result's parts are those of the parts. */
const PARTWISE = new Set(
  `AddN BroadcastTo ConcatV2 Cumsum Diag DiagPart EnsureShape ExpandDims Fill GatherGrad GatherNd GatherV2 Identity
  MatrixBandPart MatrixDiagPartV3 MatrixDiagV3 MatrixSetDiagV3 Mean MirrorPad Pack Pad PadV2 Reshape ReverseV2 Roll
  ScatterNd SegmentSum Select Slice Split SplitV Squeeze StopGradient StridedSlice StridedSliceGrad Sum TensorScatterAdd
  TensorScatterUpdate Tile Transpose Unpack UnsortedSegmentSum ZerosLike _After _CheckedGradient`
    .split(/\s+/),
);

/** Ops that only ask for shapes. */
const COUNTS: ReadonlySet<string> = new Set(["Rank", "Shape", "Size"]);

/** Products of two operands. */
const PRODUCTS: ReadonlySet<string> = new Set(["MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum"]);

type Write = (n: NodeWriter) => Ref[];

/** Writes a node with complex operands or results; null leaves it to its parts. */
export function writeComplex(
  n: NodeWriter,
  rules: WriteRules,
  write: Write,
): readonly Ref[] | null {
  const { name, meaning } = n.def;
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
  const made = typeof rule === "function" ? rule(n) : null;
  if (made !== null) return made instanceof Ref ? [made] : made;
  if (PARTWISE.has(name)) return partwise(n, write);
  if (name === "OnesLike") {
    return [complexOf(n, ofParts(n, write, [0])[0], zerosLike(n, n.xs[0].parts![0]))];
  }
  if (COUNTS.has(name)) return ofParts(n, write, n.xs.map(() => 0));
  if (PRODUCTS.has(name) && n.xs.length === 2) return [product(n, write)];
  return meaning.kind === "pointwise" ? pointwise(n, meaning) : null;
}

/** Writes the same op of one of the parts of each operand. */
function ofParts(n: NodeWriter, write: Write, which: readonly (0 | 1)[]): Ref[] {
  return write(
    new NodeWriter(n.target, n.graph, {
      name: n.name,
      def: n.def,
      attrs: realAttrs(n.attrs),
      inputs: n.xs.map((x, i) => x.parts?.[which[i]] ?? x),
      outputs: n.outputs.map(({ dtype, shape }) => ({ dtype: partType(dtype), shape })),
    }),
  );
}

function realAttrs(attrs: Attrs): Attrs {
  const real = (v: unknown): unknown =>
    typeof v === "string" && Object.hasOwn(DTYPES, v) ? partType(v as DType) : v;
  return Object.fromEntries(Object.entries(attrs).map(([key, v]) => [key, real(v)]));
}

function partwise(n: NodeWriter, write: Write): Ref[] {
  const re = ofParts(n, write, n.xs.map(() => 0)), im = ofParts(n, write, n.xs.map(() => 1));
  return re.map((r, k) => complexOf(n, r, im[k]));
}

function product(n: NodeWriter, write: Write): Ref {
  const of = (a: 0 | 1, b: 0 | 1): Ref => ofParts(n, write, [a, b])[0];
  const join = (op: "Add" | "Sub", a: Ref, b: Ref): Ref => n.node(op, [a, b]);
  const isConj = (flag: string): boolean => n.attrs[flag] === true;
  // An adjoint operand has a negative imaginary part.
  const [a, b] = [isConj("adj_x"), isConj("adj_y")];
  const re = join(a === b ? "Sub" : "Add", of(0, 0), of(1, 1));
  if (a && b) return complexOf(n, re, n.node("Neg", [join("Add", of(0, 1), of(1, 0))]));
  if (b) return complexOf(n, re, join("Sub", of(1, 0), of(0, 1)));
  return complexOf(n, re, join(a ? "Sub" : "Add", of(0, 1), of(1, 0)));
}

function pointwise(n: NodeWriter, meaning: MeaningOf<"pointwise">): Ref[] {
  const exprs = meaning.exprs(n.xs.map((_, i) => argument(i)), n.attrs);
  return exprs.map((expr, k) => {
    const { dtype } = n.outputs[k], [re, im] = writeComplexExpr(n, expr, dtype);
    if (DTYPES[dtype].kind !== "complex") return n.cast(re, dtype);
    const part = n.cast(re, partType(dtype));
    return complexOf(n, part, im ?? zerosLike(n, part));
  });
}
