/** Helpers of vector code: multiply-add, polynomials, choices, detours through f64 and through JavaScript. */
import type { FunctionBuilder, FunctionRef, Local } from "./function_builder.ts";
import { f32, f32x4, f64, f64x2, i32, i32x4 } from "./instructions.ts";
import type { Floats } from "./instruction_kinds.ts";
import type { Value } from "./value.ts";
import { Error } from "../../../core/throwing/builtin_errors.ts";

export type F4 = Value<"f32x4">;
export type D2 = Value<"f64x2">;
/** Four i32, or four masks of all ones or all zeros. */
export type I4 = Value<"i32x4">;

/** JavaScript functions of one or two numbers that a module imports, by name. */
export type HostImports = ReadonlyMap<string, FunctionRef<readonly "f64"[], "f64">>;

type FloatType = "f32x4" | "f64x2";
const FLOATS: { readonly [T in FloatType]: Floats<T> } = { f32x4, f64x2 };

/**
 * Vector code within one function. Constants are kept in variables; results are named, so they may be used more than
 * once.
 */
export class Simd {
  readonly f: FunctionBuilder;
  /** Lanes without a result so far; null where they are not recorded. */
  fault: Local<"i32x4"> | null = null;
  readonly #relaxed: boolean;
  readonly #host: HostImports;

  /** `relaxed` allows fused multiply-add. */
  constructor(f: FunctionBuilder, relaxed: boolean, host: HostImports = new Map()) {
    this.f = f;
    this.#relaxed = relaxed;
    this.#host = host;
  }

  /** Records lanes without a result. */
  refuse(lanes: I4): void {
    if (this.fault !== null) this.f.set(this.fault, i32x4.or(this.fault, lanes));
  }

  /** A constant in four lanes. */
  k(value: number): F4 {
    return this.f.constant("f32x4", value);
  }
  d(value: number): D2 {
    return this.f.constant("f64x2", value);
  }
  i(value: number): I4 {
    return this.f.constant("i32x4", value);
  }

  /** `a * b + c`. */
  madd<T extends FloatType>(a: Value<T>, b: Value<T>, c: Value<T>): Value<T> {
    const { relaxedMadd, add, mul } = FLOATS[a.type];
    return this.#relaxed ? relaxedMadd(a, b, c) : add(mul(a, b), c);
  }

  /** `c[0] + c[1] x + c[2] x² …`. `x` must be a variable. */
  poly<T extends FloatType>(x: Value<T>, c: readonly number[]): Value<T> {
    const highestFirst = c.toReversed().map((number) => this.f.constant(x.type, number));
    return highestFirst.reduce((sum, next) => this.madd(sum, x, next));
  }

  /** `|x|`, by a mask that stays in a register: engines materialize that of the instruction each time. */
  abs(x: F4): F4 {
    return f32x4.and(x, f32x4.ofBits(this.i(0x7fffffff)));
  }
  /** `|x|` with the sign of `s`. */
  copySign<T extends FloatType>(x: Value<T>, s: Value<T>): Value<T> {
    const { or, and } = FLOATS[x.type];
    return or(x, and(s, this.f.constant(x.type, -0)));
  }

  /** Computes in f64: both halves of the operands are widened, passed to `fn`, and rounded back. */
  wide(args: readonly F4[], fn: (...args: D2[]) => D2): F4 {
    const low = args.map((x) => this.f.let(f64x2.ofF32(x)));
    const high = args.map((x) => this.f.let(f64x2.ofF32(f32x4.shuffle(x, x, [2, 3, 2, 3]))));
    const a = this.f.let(f32x4.ofF64(fn(...low)));
    return this.f.let(f32x4.shuffle(a, f32x4.ofF64(fn(...high)), [0, 1, 4, 5]));
  }

  /** Computes on int32 or uint32 lanes in f64, where all of them and their quotients are exact. */
  wideInts(a: I4, b: I4, signed: boolean, fn: (a: D2, b: D2) => D2): I4 {
    const widen = signed ? f64x2.ofI32 : f64x2.ofU32, narrow = signed ? i32x4.ofF64 : i32x4.ofF64U;
    const half = (x: I4): I4 => i32x4.shuffle(x, x, [2, 3, 2, 3]);
    const two = (a: I4, b: I4): I4 => narrow(fn(this.f.let(widen(a)), this.f.let(widen(b))));
    const low = this.f.let(two(a, b));
    return this.f.let(i32x4.shuffle(low, two(half(a), half(b)), [0, 1, 4, 5]));
  }

  /** Recomputes all lanes by the JavaScript function if any lane of `rare` is set. */
  rareHost(result: F4, rare: I4, name: string, args: readonly F4[]): F4 {
    const fn = this.#host.get(name);
    if (fn === undefined) throw new Error(`Cannot call ${name}: the module does not import it`);
    const out = this.f.variable("f32x4", result);
    this.f.if(i32.anyTrue(rare), () => {
      for (let lane = 0; lane < 4; lane++) {
        const wide = args.map((a) => f64.ofF32(f32x4.lane(a, lane)));
        this.f.set(out, f32x4.withLane(out, lane, f32.ofF64(this.f.call(fn, ...wide))));
      }
    });
    return out;
  }
}

/** 0, 1, 2, 3. */
export function laneNumbers(f: FunctionBuilder): I4 {
  return [1, 2, 3].reduce<I4>((v, i) => i32x4.withLane(v, i, i), f.constant("i32x4", 0));
}
