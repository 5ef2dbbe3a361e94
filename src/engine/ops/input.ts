/** Converts arguments to inputs of `apply`: tensors stay, variables are read, JavaScript values become literals. */
import { wrongArgument } from "../core/arguments.ts";
import { apply1, currentInterpreter, disposes, type OpInput } from "../core/apply.ts";
import { type DType, DTYPES, isInRange, isInteger, widerDType } from "../core/dtype.ts";
import { NdArray } from "../core/nd_array.ts";
import { CompositeTensor, type Operand } from "../core/composite.ts";
import { toNdArray } from "../core/convert.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { ValueError } from "../core/errors.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { type Attrs, lookupOp, type OpDef } from "../core/op.ts";
import { type PartialShape, shapeText } from "../core/shape.ts";
import { reads } from "../core/text.ts";

/**
 * Converts one argument; JavaScript values take `dtype`. Throws `TypeError`, which names the argument and the function,
 * for other values.
 */
export function toInput(
  x: Operand,
  arg: string,
  fn: string,
  options: { readonly dtype?: DType | undefined } = {},
): OpInput {
  if (x instanceof NdArray) {
    if (options.dtype === undefined) return x;
  } else if (x instanceof Tensor) return x.asOpInput();
  // Ops have rules for them: `apply` asks for those.
  else if (x instanceof CompositeTensor) return x as unknown as Tensor;
  if (typeof x === "number") {
    if (options.dtype === "float32") return floatScalar(x);
    if (options.dtype === "int32" && x === (x | 0)) return intScalar(x | 0);
  }
  if (isNoTensor(x)) throw wrongArgument(x, arg, fn, "a Tensor or TensorLike");
  try {
    return toNdArray(x, options);
  } catch (e) {
    throw ofArgument(e, arg, fn);
  }
}

/** An error of a conversion, whose text then tells which argument was converted. */
function ofArgument(error: unknown, arg: string, fn: string): unknown {
  if (error instanceof Error) error.message += ` (argument '${arg}' of '${fn}')`;
  return error;
}

/** Converts as {@linkcode toInput} does for ops without rules for composite values. Throws `TypeError` for those. */
export function toDenseInput(
  x: Operand,
  arg: string,
  fn: string,
  options: { readonly dtype?: DType | undefined } = {},
): OpInput {
  const input = toInput(x, arg, fn, options);
  if (!((input as unknown) instanceof CompositeTensor)) return input;
  throw new TypeError(`Cannot use ${input} as ${arg} of ${fn}: wanted a dense tensor`);
}

function isNoTensor(x: unknown): boolean {
  if (x === null || x === undefined || typeof x === "function" || typeof x === "symbol") {
    return true;
  }
  return typeof x === "object" && !Array.isArray(x) && !ArrayBuffer.isView(x) &&
    !(Array.isArray((x as { shape?: unknown }).shape));
}

/**
 * Converts a list of arguments. JavaScript numbers, and lists of them, take the dtype of the first tensor if it holds
 * them.
 */
export function toInputs(xs: readonly Operand[], arg: string, fn: string): OpInput[] {
  if (!Array.isArray(xs)) {
    throw wrongArgument(xs, arg, fn, "a list of tensors");
  }
  const inputs: OpInput[] = [], typed = xs.find(isTyped);
  // Not `map`, which skips holes.
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i];
    inputs.push(
      x instanceof Tensor ? x.asOpInput() : toOperand(x, typed, { arg: `${arg}[${i}]`, fn }),
    );
  }
  return inputs;
}

/** Converts to another dtype if it differs. */
export function castInput(x: OpInput, dtype: DType): OpInput {
  if (x.dtype === dtype) return x;
  if (x instanceof NdArray) return toNdArray(x, { dtype });
  return apply1(lookupOp("Cast")!, [x], { DstT: dtype });
}

/**
 * Applies an op as {@linkcode apply1} does to inputs made of these arguments, and disposes tensors that were cast for
 * it.
 */
export function applyConverted(
  def: OpDef,
  inputs: readonly OpInput[],
  given: readonly Operand[],
  attrs?: Attrs,
): Tensor {
  try {
    return apply1(def, inputs, attrs);
  } finally {
    disposeConverted(inputs, given);
  }
}

/** Disposes inputs that were made of these arguments and are not the arguments themselves. */
export function disposeConverted(inputs: readonly OpInput[], given: readonly Operand[]): void {
  if (!disposes()) return;
  for (let i = 0; i < inputs.length; i++) {
    const made = inputs[i], from = given[i];
    if (made === from || made instanceof NdArray) continue;
    // A variable's value is not owned here: only another dtype shows that it was cast.
    if ((made as unknown) instanceof CompositeTensor) {
      (made as Tensor).dispose();
    } else if (from instanceof Tensor && made.dtype !== from.dtype) {
      made.dispose();
    }
  }
}

/** Converts integer and boolean inputs of float functions to float32. */
export function toFloatInput(x: Operand, arg: string, fn: string): OpInput {
  const input = toInput(x, arg, fn);
  const kind = DTYPES[input.dtype].kind;
  return kind === "int" || kind === "uint" || kind === "bool" ? castInput(input, "float32") : input;
}

/**
 * Converts two arguments to one dtype: the wider of bool < int < float < complex. JavaScript numbers, and lists of
 * them, take the other's dtype if it holds them.
 */
export function toMatchingInputs(
  a: Operand,
  b: Operand,
  fn: string,
  names: readonly [string, string] = ["a", "b"],
): [OpInput, OpInput] {
  if (isTensor(a)) {
    if (typeof b === "number") {
      if (a.dtype === "float32") return [a.asOpInput(), floatScalar(b)];
    } else if (isTensor(b) && a.dtype === b.dtype) return [a.asOpInput(), b.asOpInput()];
  }
  const x = toOperand(a, b, { arg: names[0], fn });
  const y = toOperand(b, a, { arg: names[1], fn });
  if (x.dtype === y.dtype) return [x, y];
  const t = widerDType(x.dtype, y.dtype);
  if (t === null) {
    throw new TypeError(
      `Cannot use ${x.dtype} as ${names[0]} of ${fn} with ${y.dtype} as ${
        names[1]
      }: neither holds the other's values`,
    );
  }
  return [castInput(x, t), castInput(y, t)];
}

function isTensor(x: Operand): x is Tensor {
  return !(x instanceof NdArray) && x instanceof Tensor;
}

function isTyped(x: Operand | undefined): x is Tensor | NdArray | CompositeTensor {
  return x instanceof NdArray || x instanceof Tensor || x instanceof CompositeTensor;
}

/**
 * Converts one argument; JavaScript numbers, and lists of them, take the dtype of another argument if it holds them.
 */
export function toOperand(
  x: Operand,
  other: Operand | undefined,
  { arg, fn }: { arg: string; fn: string },
): OpInput {
  if (!isTyped(other)) return toInput(x, arg, fn);
  const { dtype } = other;
  if (Array.isArray(x)) return listBeside(dtype, x, toInput(x, arg, fn) as NdArray);
  if (typeof x !== "number") return toInput(x, arg, fn);
  const { kind } = DTYPES[dtype];
  if (dtype === "float32") return floatScalar(x);
  const takes = kind === "float" || kind === "complex" || holds(dtype, x);
  return toInput(x, arg, fn, takes ? { dtype } : {});
}

/** True where an integer dtype holds a number. */
function holds(dtype: DType, x: number): boolean {
  return isInteger(dtype) && Number.isInteger(x) && isInRange(dtype, x);
}

/** Converts a list (`plain` if it stands alone) to the other argument's dtype if it holds all of its numbers. */
function listBeside(dtype: DType, list: readonly unknown[], plain: NdArray): NdArray {
  if (dtype === "float32" || plain.dtype !== "float32" || isOfArrays(list)) return plain;
  if (DTYPES[dtype].kind === "float") return toNdArray(list, { dtype });
  if (!isInteger(dtype)) return plain;
  const { data } = toNdArray(list, { dtype: "float64" });
  const fits = (data as Float64Array).every((x) => holds(dtype, x));
  return fits ? toNdArray(list, { dtype }) : plain;
}

/** True where the list contains typed arrays, which have a dtype of their own. */
function isOfArrays(list: readonly unknown[]): boolean {
  let first: unknown = list;
  while (Array.isArray(first)) first = first[0];
  return typeof first === "object";
}

/**
 * Makes a host input: axes, shapes, paddings. Numbers become an int32 literal. Throws `ValueError` for numbers that
 * int32 does not hold.
 */
export function toIndexInput(x: Operand, arg: string, fn: string): OpInput {
  if (isNumbers(x)) return namedLiteral([x.length], x, arg, fn);
  if (x instanceof NdArray) return x;
  if (x instanceof CompositeTensor) {
    throw new TypeError(`Cannot use ${x} as ${arg} of ${fn}: wanted a dense tensor`);
  }
  if (isRows(x)) return namedLiteral([x.length, x[0].length], x.flat(), arg, fn);
  if (Array.isArray(x) && x.flat().some((e) => e instanceof Tensor)) {
    return packedIndices(x, arg, fn);
  }
  return toInput(x, arg, fn, { dtype: x instanceof Tensor ? undefined : "int32" });
}

/** Packs whole numbers of which some are scalar tensors, as in `[n, -1]`. Eager code reads those. TensorFlow op `Pack`. */
function packedIndices(list: readonly TensorLike[], arg: string, fn: string): OpInput {
  const parts = list.map((e, i) => {
    if (!(e instanceof Tensor)) return toIndexInput(e, `${arg}[${i}]`, fn);
    if (isInteger(e.dtype)) return castInput(e.asOpInput(), "int32");
    throw new TypeError(`Cannot use ${e.dtype} as ${arg}[${i}] of ${fn}: wanted whole numbers`);
  });
  const packed = apply1(lookupOp("Pack")!, parts, { axis: 0 });
  disposeConverted(parts, list);
  if (currentInterpreter().symbolic) return packed;
  try {
    return packed.ndarraySync();
  } finally {
    packed.dispose();
  }
}

function namedLiteral(
  shape: readonly number[],
  values: readonly number[],
  arg: string,
  fn: string,
): NdArray {
  try {
    return literal("int32", shape, values);
  } catch (e) {
    throw ofArgument(e, arg, fn);
  }
}

function isNumbers(x: Operand): x is readonly number[] {
  if (!Array.isArray(x)) return false;
  // Not `every`, which skips holes.
  for (let i = 0; i < x.length; i++) if (typeof x[i] !== "number") return false;
  return true;
}

function isRows(x: Operand): x is readonly (readonly number[])[] {
  if (!Array.isArray(x) || x.length === 0) return false;
  for (let i = 0; i < x.length; i++) {
    if (!isNumbers(x[i]) || x[i].length !== x[0].length) return false;
  }
  return true;
}

/** Makes an int32 literal of rank 1. */
export function intVector(values: readonly number[]): NdArray {
  return literal("int32", [values.length], values);
}

/** Makes an int32 literal of rank 0. */
export function intScalar(value: number): NdArray {
  return literal("int32", [], [value]);
}

/** Makes a float32 literal of rank 0. */
export function floatScalar(value: number): NdArray {
  return literal("float32", [], [Math.fround(value)]);
}

/**
 * Recent literals of eager code, which are never written: some engines take longer to make a small typed array than to
 * run a small op. A graph keeps its own, which its user may fetch.
 */
const lately: (NdArray | undefined)[] = [];
const MOST_VALUES = 8, PLACE_BITS = 10;
/** 2^32 by the golden ratio: high bits of its products spread numbers that are alike (Knuth, multiplicative hashing). */
const GOLDEN = 0x9e3779b1;

function literal(
  dtype: "int32" | "float32",
  shape: readonly number[],
  values: readonly number[],
): NdArray {
  if (values.length > MOST_VALUES || currentInterpreter().symbolic) {
    return newLiteral(dtype, shape, values);
  }
  let hash = 2 * shape.length + (dtype === "int32" ? 1 : 0);
  // A float is multiplied, so that halves and thirds differ.
  for (let i = 0; i < values.length; i++) hash = (hash * 31 + values[i] * 4099) | 0;
  const place = Math.imul(hash, GOLDEN) >>> (32 - PLACE_BITS), known = lately[place];
  return known !== undefined && isLiteral(known, dtype, shape, values)
    ? known
    : lately[place] = newLiteral(dtype, shape, values);
}

function isLiteral(
  known: NdArray,
  dtype: DType,
  shape: readonly number[],
  values: readonly number[],
): boolean {
  const { data } = known;
  if (known.dtype !== dtype || known.rank !== shape.length || data.length !== values.length) {
    return false;
  }
  for (let i = 0; i < shape.length; i++) if (known.shape[i] !== shape[i]) return false;
  for (let i = 0; i < values.length; i++) if (!Object.is(data[i], values[i])) return false;
  return true;
}

function newLiteral(
  dtype: "int32" | "float32",
  shape: readonly number[],
  values: readonly number[],
): NdArray {
  const data = dtype === "int32" ? wholeNumbers(values) : new Float32Array(values);
  return new NdArray(dtype, shape, data);
}

/** Throws `TypeError` for fractions, and `ValueError` rather than wrap: the extent that -1 stands for differs from 2^32 - 1. */
function wholeNumbers(values: readonly number[]): Int32Array<ArrayBuffer> {
  const data = new Int32Array(values);
  for (let i = 0; i < data.length; i++) {
    const value = reads.asTensorFlowJs ? Math.trunc(values[i]) : values[i];
    if (data[i] === value) continue;
    const use = `Cannot use ${value} as an extent or an index`;
    if (!Number.isInteger(value)) throw new TypeError(`${use}: wanted a whole number`);
    throw new ValueError(`${use}: wanted a number that fits in int32`);
  }
  return data;
}

/** Static shape of an input. */
export function shapeOfInput(x: OpInput): PartialShape {
  if (x instanceof NdArray) return x.shape;
  return x instanceof Tensor ? x.staticShape : (x as CompositeTensor).shape;
}

/** Throws `ValueError` with a text about its shape for an input of another known rank. */
export function wantRank(x: OpInput, rank: number, refusal: (shape: string) => string): void {
  const shape = shapeOfInput(x);
  if (shape && shape.length !== rank) throw new ValueError(refusal(shapeText(shape)));
}

/** Checks an argument by name as {@linkcode wantRank} does. */
export function wantArgument(x: OpInput, rank: number, fn: string, arg: string): void {
  wantRank(
    x,
    rank,
    (shape) => `Cannot apply ${fn}: ${arg} should be of rank ${rank} but received shape ${shape}`,
  );
}

/** Converts int64 to int32, as in TensorFlow.js, and disposes the wide tensor. */
export function narrowed(wide: Tensor): Tensor {
  const out = castInput(wide, "int32") as Tensor;
  if (!wide.isSymbolic) wide.dispose();
  return out;
}

/** Returns the input as a tensor: literals become constants. */
export function asTensor(x: OpInput): Tensor {
  if (x instanceof Tensor) return x;
  if (x instanceof CompositeTensor) {
    throw new TypeError(`Cannot use ${x} as a tensor: wanted a dense one`);
  }
  return apply1(lookupOp("Identity")!, [x]);
}
