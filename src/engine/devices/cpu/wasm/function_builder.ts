/** The body of a WebAssembly function as statements: locals, loops, branches, stores, calls. */
import { unsigned } from "./bytes.ts";
import { i32 } from "./instructions.ts";
import {
  bytesOf,
  type Code,
  constant,
  lift,
  type Operand,
  typeByte,
  Value,
  type ValueType,
  type VectorType,
} from "./value.ts";

/** A local variable; reading it is a value. */
export class Local<T extends ValueType = ValueType> extends Value<T> {
  /** Number within the function; parameters come first. */
  readonly index: number;

  constructor(type: T, index: number) {
    super(type, [0x20, unsigned(index)]);
    this.index = index;
  }
}

/** A variable that holds an address or a number. */
export type I = Local<"i32">;

export type Locals<P extends readonly ValueType[]> = {
  [K in keyof P]: P[K] extends ValueType ? Local<P[K]>
    : never;
};
export type Operands<P extends readonly ValueType[]> = {
  [K in keyof P]: P[K] extends ValueType ? Operand<P[K]>
    : never;
};

/** A function of the module that can be called. */
export interface FunctionRef<
  P extends readonly ValueType[] = readonly ValueType[],
  R extends ValueType | null = ValueType | null,
> {
  /** Number within the module. */
  readonly index: number;
  readonly params: P;
  readonly result: R;
}

const BLOCK = 0x02,
  LOOP = 0x03,
  IF = 0x04,
  ELSE = 0x05,
  END = 0x0b,
  BR = 0x0c,
  BR_IF = 0x0d,
  RETURN = 0x0f,
  CALL = 0x10;
const NOTHING = 0x40, LOCAL_SET = 0x21, PREFIX_MISC = 0xfc;

/** Writes one function body. */
export class FunctionBuilder {
  #code: (number | Code)[] = [];
  readonly #prologue: Code[] = [];
  readonly #constants = new Map<string, Local>();
  readonly #types: ValueType[];
  readonly #params: number;

  constructor(params: readonly ValueType[]) {
    this.#types = [...params];
    this.#params = params.length;
  }

  /** Declares a variable, 0 at first. */
  local<T extends ValueType>(type: T): Local<T> {
    this.#types.push(type);
    return new Local(type, this.#types.length - 1);
  }

  locals<T extends ValueType>(type: T, count: number): Local<T>[] {
    return Array.from({ length: count }, () => this.local(type));
  }

  /** Stores a value in a variable, to use an expression twice. Locals and constants are returned as they are. */
  let<T extends ValueType>(value: Value<T>): Value<T> {
    if (value instanceof Local || value.constant !== undefined) return value;
    return this.variable(value.type, value);
  }

  variable<T extends ValueType>(type: T, value: Operand<T>): Local<T> {
    const x = this.local(type);
    this.set(x, value);
    return x;
  }

  /** Declares variables with addresses that are `step` bytes apart. */
  ramp(first: Operand<"i32">, step: Operand<"i32">, count: number): Local<"i32">[] {
    return Array.from(
      { length: count },
      (_, i) => this.variable("i32", i32.add(first, i32.mul(step, i))),
    );
  }

  /**
   * Holds a constant in a variable that is set once, at the start: a vector constant takes several machine
   * instructions.
   */
  constant<T extends ValueType>(type: T, value: number): Value<T> {
    const key = `${type} ${Object.is(value, -0) ? "-0" : value}`;
    let x = this.#constants.get(key);
    if (x === undefined) {
      this.#constants.set(key, x = this.local(type as ValueType));
      this.#prologue.push([constant(type, value).code, LOCAL_SET, unsigned(x.index)]);
    }
    return x as Local<T>;
  }

  /** `x = value`. */
  set<T extends ValueType>(x: Local<T>, value: Operand<T>): void {
    this.#code.push(lift(x.type, value).code, LOCAL_SET, unsigned(x.index));
  }

  /** `x += step`. */
  advance(x: Local<"i32">, step: Operand<"i32">): void {
    if (step !== 0) this.set(x, i32.add(x, step));
  }

  store(address: Operand<"i32">, value: Value, offset = 0): void {
    const op = STORES[value.type as keyof typeof STORES] ?? [0xfd, 0x0b];
    this.#code.push(
      lift("i32", address).code,
      value.code,
      op,
      value.type === "f64" ? 3 : 2,
      unsigned(offset),
    );
  }

  /** Stores the low byte of an i32. */
  store8(address: Operand<"i32">, value: Operand<"i32">, offset = 0): void {
    this.#code.push(lift("i32", address).code, lift("i32", value).code, 0x3a, 0, unsigned(offset));
  }

  /** Stores one lane of 1, 2, 4 or 8 bytes. */
  storeLane(
    address: Operand<"i32">,
    value: Value<VectorType>,
    bytes: 1 | 2 | 4 | 8,
    lane: number,
    offset = 0,
  ): void {
    const align = Math.log2(bytes), op = 88 + align;
    this.#code.push(lift("i32", address).code, value.code, 0xfd, op, align, unsigned(offset), lane);
  }

  /** Copies bytes; the ranges may overlap. */
  copy(to: Operand<"i32">, from: Operand<"i32">, bytes: Operand<"i32">): void {
    this.#bulk([to, from, bytes], [10, 0, 0]);
  }

  fill(to: Operand<"i32">, byte: Operand<"i32">, bytes: Operand<"i32">): void {
    this.#bulk([to, byte, bytes], [11, 0]);
  }

  #bulk(operands: readonly Operand<"i32">[], code: Code): void {
    this.#code.push(operands.map((x) => lift("i32", x).code), PREFIX_MISC, code);
  }

  /** Runs `then` where the condition is not 0, else `otherwise`. */
  if(condition: Value<"i32">, then: () => void, otherwise?: () => void): void {
    this.#code.push(condition.code, IF, NOTHING);
    this.#inside(1, then);
    if (otherwise) {
      this.#code.push(ELSE);
      this.#inside(1, otherwise);
    }
    this.#code.push(END);
  }

  /** Repeats while the condition, computed before each turn, is not 0. */
  while(condition: Value<"i32">, body: () => void): void {
    // Tested once on entry and then at the bottom: one branch a turn.
    this.#code.push(BLOCK, NOTHING, i32.eqz(condition).code, BR_IF, 0, LOOP, NOTHING);
    this.#inside(2, body);
    this.#code.push(condition.code, BR_IF, 0, END, END);
  }

  /** Counts `i`, a number and no address, from its value to below `end`. */
  until(i: Local<"i32">, end: Operand<"i32">, step: Operand<"i32">, body: () => void): void {
    this.while(i32.lt(i, end), () => {
      body();
      this.advance(i, step);
    });
  }

  /** Takes `step` at a time from `left`, which is not negative, while there are so many. */
  countDown(left: Local<"i32">, step: number, body: () => void): void {
    this.while(step === 1 ? left : i32.ge(left, step), () => {
      body();
      this.advance(left, -step);
    });
  }

  /** Counts a new variable from 0 to below `end`. */
  times(end: Operand<"i32">, body: (i: Local<"i32">) => void, step: Operand<"i32"> = 1): void {
    const i = this.variable("i32", 0);
    this.until(i, end, step, () => body(i));
  }

  /** Runs the body, which may end early by calling `leave`. */
  block(body: (leave: () => void) => void): void {
    this.#code.push(BLOCK, NOTHING);
    const depth = this.#depth + 1;
    this.#inside(1, () => body(() => this.#code.push(BR, unsigned(this.#depth - depth))));
    this.#code.push(END);
  }

  /** Branches count the blocks they leave. */
  #inside(blocks: number, body: () => void): void {
    this.#depth += blocks;
    body();
    this.#depth -= blocks;
  }
  #depth = 0;

  return(value?: Value): void {
    if (value) this.#code.push(value.code);
    this.#code.push(RETURN);
  }

  /** Ends the body of a function with a result. */
  result(value: Value): void {
    this.#code.push(value.code);
  }

  call<P extends readonly ValueType[], R extends ValueType>(
    fn: FunctionRef<P, R>,
    ...args: Operands<P>
  ): Value<R> {
    return new Value(fn.result, this.#callCode(fn, args as unknown as Operand<ValueType>[]));
  }

  /** Calls for the effect. */
  run<P extends readonly ValueType[]>(fn: FunctionRef<P, null>, ...args: Operands<P>): void {
    this.#code.push(this.#callCode(fn, args as unknown as Operand<ValueType>[]));
  }

  #callCode(fn: FunctionRef, args: readonly Operand<ValueType>[]): Code {
    return [args.map((a, i) => lift(fn.params[i], a).code), CALL, unsigned(fn.index)];
  }

  /** Encodes the body: declarations of locals, instructions, end. */
  finish(): number[] {
    const locals = this.#types.slice(this.#params);
    const runs: { type: number; count: number }[] = [];
    for (const type of locals.map(typeByte)) {
      const last = runs.at(-1);
      if (last?.type === type) last.count++;
      else runs.push({ type, count: 1 });
    }
    const declarations = runs.map(({ type, count }) => [unsigned(count), type]);
    return bytesOf([unsigned(runs.length), declarations, this.#prologue, this.#code, END]);
  }
}

const STORES = { i32: [0x36], f32: [0x38], f64: [0x39] } as const;
