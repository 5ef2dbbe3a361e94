/**
 * Common parts of instructions of several types, and the functions that are made from tables of their operands and
 * opcodes.
 */
import { unsigned } from "./bytes.ts";
import {
  type Code,
  constant,
  lift,
  type Operand,
  type ScalarType,
  Value,
  type ValueType,
  type VectorType,
} from "./value.ts";

/** Prefix of the vector page's opcodes, which have three digits. */
const SIMD = 0xfd000;
/** Selects bytes of two vectors. */
export const SHUFFLE: Code = opcode(0xfd00d);

function opcode(op: number): Code {
  return op >= SIMD ? [0xfd, unsigned(op - SIMD)] : [op];
}

/** The types of the operands of an instruction, `"own"` for that of its table, and its opcode. */
type Entry = readonly [...(ValueType | "own")[], number];
type Entries = Readonly<Record<string, Entry>>;
/** The functions of a table of operands and opcodes; their results are of the table's type. */
export type Instructions<T extends ValueType, Table> = {
  readonly [N in keyof Table]: Table[N] extends readonly [...infer A, number]
    ? (...operands: { [I in keyof A]: Operand<TypeOf<A[I], T>> }) => Value<T>
    : never;
};
type TypeOf<A, T extends ValueType> = A extends ValueType ? A : T;

/** Makes the functions of a table, for its own type. Opcodes count from `at`. */
function instructions<T extends ValueType, Table extends Entries>(
  own: T,
  table: Table,
  at = 0,
): Instructions<T, Table> {
  const make = (entry: Entry): unknown => {
    const op = at + (entry.at(-1) as number);
    const [a, b] = entry.slice(0, -1).map((type) => (type === "own" ? own : type) as ValueType);
    return b === undefined ? unary(a, op, own) : binary([a, b], op, own);
  };
  const made = Object.entries(table).map(([name, entry]) => [name, make(entry)] as const);
  return Object.fromEntries(made) as Instructions<T, Table>;
}
function unary<T extends ValueType>(type: ValueType, op: number, result: T) {
  const code = opcode(op);
  return (a: Operand<ValueType>): Value<T> => new Value(result, [lift(type, a).code, code]);
}
function binary<T extends ValueType>([a, b]: readonly ValueType[], op: number, result: T) {
  const code = opcode(op);
  return (x: Operand<ValueType>, y: Operand<ValueType>): Value<T> =>
    new Value(result, [lift(a, x).code, lift(b, y).code, code]);
}

/** A load from `address + offset`. */
export type Load<T extends ValueType> = (address: Operand<"i32">, offset?: number) => Value<T>;
/** Makes a load; `align` is the exponent of the natural alignment, which engines take as a hint only. */
export function load<T extends ValueType>(type: T, op: number, align: number): Load<T> {
  const code = opcode(op);
  return (address, offset = 0) =>
    new Value(type, [lift("i32", address).code, code, align, unsigned(offset)]);
}

/** Comparisons; `M` is 0 or 1 for numbers, all ones or all zeros in each lane for vectors. */
export type Comparisons<T extends ValueType, M extends ValueType> = Readonly<
  Record<"eq" | "ne" | "lt" | "gt" | "le" | "ge", (a: Operand<T>, b: Operand<T>) => Value<M>>
>;
export function comparisons<T extends ValueType, M extends ValueType>(
  type: T,
  mask: M,
  [eq, ne, lt, gt, le, ge]: readonly number[],
): Comparisons<T, M> {
  const of = (op: number) => binary([type, type], op, mask);
  return { eq: of(eq), ne: of(ne), lt: of(lt), gt: of(gt), le: of(le), ge: of(ge) };
}

/** Instructions on numbers, including those of a table. */
export interface Numbers<T extends ScalarType> extends Comparisons<T, "i32"> {
  readonly const: (value: number) => Value<T>;
  readonly load: Load<T>;
}
/** Makes them from the opcodes of comparisons, and opcode and alignment of the load. */
export function numbers<T extends ScalarType, Table extends Entries>(
  type: T,
  table: Table,
  at: { readonly compare: readonly number[]; readonly load: readonly [number, number] },
): Numbers<T> & Instructions<T, Table> {
  const shared: Numbers<T> = {
    const: (value) => constant(type, value),
    load: load(type, ...at.load),
    ...comparisons(type, "i32", at.compare),
  };
  return { ...shared, ...instructions(type, table) };
}

const BITS = {
  and: ["own", "own", 0xfd04e],
  /** `a & ~b`. */
  andNot: ["own", "own", 0xfd04f],
  or: ["own", "own", 0xfd050],
  xor: ["own", "own", 0xfd051],
} as const;
/** Operations on bits; the same for every vector type. */
export interface Bits<T extends VectorType> extends Instructions<T, typeof BITS> {
  readonly const: (value: number) => Value<T>;
  /** `mask ? yes : no`, bit by bit. */
  readonly select: (yes: Operand<T>, no: Operand<T>, mask: Value<VectorType>) => Value<T>;
  /** Reinterprets the bits as this type, without an instruction. */
  readonly ofBits: (a: Value<VectorType>) => Value<T>;
}
/** Makes operations on bits, including those of a table. */
export function vectors<T extends VectorType, Table extends Entries>(
  type: T,
  table: Table,
): Bits<T> & Instructions<T, Table> {
  const shared: Bits<T> = {
    ...instructions(type, BITS),
    const: (value) => constant(type, value),
    select: (yes, no, mask) =>
      new Value(type, [lift(type, yes).code, lift(type, no).code, mask.code, opcode(0xfd052)]),
    ofBits: (a) => new Value(type, a.code),
  };
  return { ...shared, ...instructions(type, table) };
}

export interface Lanes<T extends VectorType, S extends ScalarType> {
  readonly splat: (x: Operand<S>) => Value<T>;
  readonly lane: (a: Value<T>, lane: number) => Value<S>;
  readonly withLane: (a: Value<T>, lane: number, x: Operand<S>) => Value<T>;
}
/** Makes them from the opcodes of splat, extract_lane and replace_lane. */
export function lanes<T extends VectorType, S extends ScalarType>(
  type: T,
  scalar: S,
  ops: readonly number[],
): Lanes<T, S> {
  const [splat, extract, replace] = ops.map(opcode);
  return {
    splat: (x) => new Value(type, [lift(scalar, x).code, splat]),
    lane: (a, lane) => new Value(scalar, [a.code, extract, lane]),
    withLane: (a, lane, x) => new Value(type, [a.code, lift(scalar, x).code, replace, lane]),
  };
}

/** Loads of vectors of 32-bit lanes. */
export interface Loads<T extends VectorType> {
  readonly load: Load<T>;
  /** Loads one lane of memory into all lanes. */
  readonly loadSplat: Load<T>;
  /** Loads one lane of memory into lane 0, zeros into the others. */
  readonly loadFirst: Load<T>;
  /** Loads two lanes of memory into lanes 0 and 1, zeros into the others. */
  readonly loadPair: Load<T>;
  /** Selects lanes of two vectors, 0–3 from `a` and 4–7 from `b`. */
  readonly shuffle: (
    a: Value<T>,
    b: Value<T>,
    lanes: readonly [number, number, number, number],
  ) => Value<T>;
}
export function loads<T extends VectorType>(type: T): Loads<T> {
  return {
    load: load(type, 0xfd000, 2),
    loadSplat: load(type, 0xfd009, 2),
    loadFirst: load(type, 0xfd05c, 2),
    loadPair: load(type, 0xfd05d, 2),
    shuffle: (a, b, order) => {
      const bytes = order.flatMap((l) => [4 * l, 4 * l + 1, 4 * l + 2, 4 * l + 3]);
      return new Value(type, [a.code, b.code, SHUFFLE, bytes]);
    },
  };
}

/** Instructions that both float vectors have in the same order, at different opcodes. */
const FLOATS = {
  abs: ["own", 0],
  neg: ["own", 1],
  sqrt: ["own", 3],
  add: ["own", "own", 4],
  sub: ["own", "own", 5],
  mul: ["own", "own", 6],
  div: ["own", "own", 7],
  /** NaN where either is NaN. */
  min: ["own", "own", 8],
  /** NaN where either is NaN. */
  max: ["own", "own", 9],
  /** `b < a ? b : a`: one machine instruction where `min` is several. */
  pmin: ["own", "own", 10],
  /** `a < b ? b : a`. */
  pmax: ["own", "own", 11],
} as const;

/** Floating point in lanes. */
export interface Floats<T extends VectorType> extends Bits<T>, Instructions<T, typeof FLOATS> {
  /** `a * b + c`, fused or not, at the machine's choice. Needs relaxed SIMD. */
  readonly relaxedMadd: (a: Operand<T>, b: Operand<T>, c: Operand<T>) => Value<T>;
}
/** Makes them, including those of a table, from the opcodes of `abs` and of the multiply-add. */
export function floats<T extends VectorType, Table extends Entries>(
  type: T,
  table: Table,
  { abs, madd }: { readonly abs: number; readonly madd: number },
): Floats<T> & Instructions<T, Table> {
  const code = opcode(madd);
  return {
    ...vectors(type, table),
    ...instructions(type, FLOATS, abs),
    relaxedMadd: (...x) => new Value(type, [x.map((operand) => lift(type, operand).code), code]),
  };
}
