/** Epilogues: the operations on sums before they are stored. */
import { type DType, DTYPES } from "../../../core/dtype.ts";
import { type Epilogue, epilogueOf, type EpilogueOperand, fusionOf } from "../../../core/fusion.ts";
import type { SumsMeaning } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { argument, type Expr, exprKey, exprType, mayFail } from "../../../core/scalar/expr.ts";
import type { Engine } from "../engine.ts";
import { type FastRun, formBy } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { Lanes } from "../pointwise/lane_printer.ts";
import { loadGroup, loadSplat } from "../pointwise/lane_memory.ts";
import { importHosts, printSimdGroup, simdPrints } from "../pointwise/print_simd.ts";
import type { FunctionBuilder } from "../wasm/function_builder.ts";
import { i32, i32x4 } from "../wasm/instructions.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import type { F4, HostImports, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";

/** Makes a kernel of a product of float32, with an optional epilogue for each of its sums. */
export type SumsPrepare = (engine: Engine, problem: Problem, epilogue?: Epilogue) => FastRun | null;

/** The kernel of sums and the epilogue that the problem or its op's attributes ask for; null where vector code does not know it. */
export function prepareSums(
  engine: Engine,
  problem: Problem,
  { asFused }: SumsMeaning,
  prepare: SumsPrepare,
): FastRun | null {
  const own = asFused ? asFused(problem) : problem;
  const epilogue = own && epilogueFor(own);
  if (own === null || epilogue === null) return null;
  // The epilogue names its operands.
  const inputs = own.inputs.slice(0, fusionOf(own.attrs)?.own), inner = { ...own, inputs };
  const shared = epilogue && own.inputs.length === inputs.length + epilogue.operands.length
    ? withNumbers(engine, epilogue)
    : null;
  if (shared === null) return prepare(engine, inner, epilogue);
  const run = prepare(engine, inner, shared.epilogue);
  return run && withOperands(run, shared.numbers);
}

/** Returns an epilogue with further operands in place of its numbers, and their addresses; null where it has none. */
function withNumbers(
  engine: Engine,
  epilogue: Epilogue,
): { readonly epilogue: Epilogue; readonly numbers: readonly Pointer[] } | null {
  const numbers: Pointer[] = [], operands = [...epilogue.operands], seen = new Map<Expr, Expr>();
  const visit = (e: Expr): Expr => {
    let made = seen.get(e);
    if (made === undefined) seen.set(e, made = replaced(e));
    return made;
  };
  const replaced = (e: Expr): Expr => {
    const value = ownNumber(e), at = value === null ? null : engine.number(value);
    if (at === null) {
      const args = e.args.map(visit);
      return args.every((a, i) => a === e.args[i]) ? e : { ...e, args };
    }
    numbers.push(at);
    // Nothing asks for the input: addresses are given.
    operands.push({ dtype: "float32", buffer: { input: -1 }, per: "all" });
    return argument(operands.length);
  };
  const expr = visit(epilogue.expr);
  return numbers.length === 0 ? null : { epilogue: { ...epilogue, expr, operands }, numbers };
}

/** Magnitudes of the ends of ranges of levels. */
const ENDS: readonly number[] = [127, 128, 255];

/**
 * Returns the number of a model that an expression is, as a scale or a zero point; null for others, and for numbers that many
 * models have.
 */
function ownNumber({ op, dtype, args: [x] }: Expr): number | null {
  if (op !== "cast" || dtype !== "float32" || x.op !== "const") return null;
  const value = Math.fround(x.value!), size = Math.abs(value);
  const isCommon = size <= 8 && Number.isInteger(8 * size) || ENDS.includes(size);
  return isCommon || !Number.isFinite(value) ? null : value;
}

/** Gives a kernel further operands at each call. */
function withOperands(run: FastRun, further: readonly Pointer[]): FastRun {
  const { onto, form } = run;
  return Object.assign(
    (outs: readonly Pointer[], ins: readonly Pointer[]): void => run(outs, [...ins, ...further]),
    { onto, form: form && formBy(form, (r) => withOperands(r, further)) },
  );
}

/** Returns the epilogue of a problem's product; null where vector code does not support it. */
export function epilogueFor(problem: Problem): Epilogue | undefined | null {
  const epilogue = epilogueOf(problem);
  if (!epilogue) return epilogue === null ? undefined : null;
  const exprs = [epilogue.expr], dtypes = dtypesOf(epilogue);
  const fits = simdPrints(exprs, dtypes) && !mayFail(exprs, dtypes) &&
    exprType(epilogue.expr, dtypes) === "float32";
  return fits ? epilogue : null;
}

function dtypesOf({ operands, sums = "float32" }: Epilogue): DType[] {
  return [sums, ...operands.map((o) => o.dtype)];
}

/** Returns a key that distinguishes the code of epilogues. */
export function epilogueKey(epilogue: Epilogue | undefined): string {
  if (!epilogue) return "";
  return `${exprKey(epilogue.expr)} ${epilogue.operands.map((o) => `${o.per} ${o.dtype}`)}`;
}

/** Imports the functions that the code of an epilogue calls. */
export function importEpilogue(
  epilogue: Epilogue | undefined,
): (m: ModuleBuilder) => HostImports {
  return (m) => importHosts(m, epilogue ? [epilogue.expr] : []);
}

/** Applies an epilogue to vectors of sums; `load` returns as many vectors of the same elements of a further operand. */
export function applyEpilogue(
  s: Simd,
  epilogue: Epilogue,
  sums: readonly F4[],
  load: (operand: EpilogueOperand, index: number) => readonly Lanes[],
): readonly F4[] {
  const own = epilogue.sums === "int32" ? sums.map((sum) => i32x4.ofBits(sum)) : sums;
  const args = [own, ...epilogue.operands.map(load)];
  const [results] = printSimdGroup(s, [epilogue.expr], dtypesOf(epilogue), args, sums.length);
  return results as readonly F4[];
}

/** Loads `count` vectors of an operand from an address. */
export function loadOperand(
  f: FunctionBuilder,
  { dtype, per }: EpilogueOperand,
  at: Value<"i32">,
  count: number,
): readonly Lanes[] {
  if (per === "all") return new Array<Lanes>(count).fill(loadSplat(f, dtype, at));
  return loadGroup(f, dtype, at, count);
}

/** Returns the address of an operand's elements, from a pointer to its first and the distance in bytes of float32. */
export function operandAt(
  { dtype }: EpilogueOperand,
  pointer: Value<"i32">,
  bytes: Value<"i32">,
): Value<"i32"> {
  return i32.add(i32.shrU(bytes, 2 - Math.log2(DTYPES[dtype].bytes)), pointer);
}

/** Moves the pointers of operands of one kind of access by as many elements as float32 has in so many bytes. */
export function movedOperands(
  epilogue: Epilogue | undefined,
  pointers: readonly Pointer[],
  moving: EpilogueOperand["per"],
  bytes: number,
): readonly Pointer[] {
  if (!epilogue) return [];
  return epilogue.operands.map(({ dtype, per }, i) =>
    per === moving ? pointers[i] + bytes / 4 * DTYPES[dtype].bytes : pointers[i]
  );
}
