// Stand-in for TensorFlow.js's test_util: the comparisons the tests call, with a tighter notion of "close".
//
// TensorFlow.js accepts an absolute error of 1e-3 everywhere: 0 passes for 0.0005, and NaN passes for Infinity. Here
// the error must be small relative to what is expected, apart from the rounding that a literal in a test shows by its
// number of decimals (0.222 stands for 2/9), and non-finite values must be the same.

/** TensorFlow.js's own tolerance, absolute; it stays the upper limit. */
const ABSOLUTE_TOLERANCE = 1e-3;

/** Tolerance of a device's arithmetic, relative to the expected magnitude and, near zero, absolute. */
interface Precision {
  readonly relative: number;
  readonly floor: number;
}

/** WGSL leaves the inverse and hyperbolic functions of a GPU far less precise than float32. */
const PRECISION: Readonly<Record<string, Precision>> = {
  cpu: { relative: 1e-5, floor: 2e-6 },
  webgpu: { relative: 1e-4, floor: 1e-5 },
};

/** A literal with fewer decimals than this is taken as exact (0.5, 2, 10.25). */
const FEWEST_ROUNDED_DECIMALS = 3;

/** One float32 rounding step, relative: what summing in another order costs where the expected value is large. */
const FLOAT32_STEP = 2 ** -23;

type Value = number | boolean | string | null;
type Nested = Value | ArrayLike<Value> | readonly Nested[];

function isTyped(value: unknown): value is ArrayLike<number> {
  return ArrayBuffer.isView(value);
}

/** All values in order; bytes inside a plain array are one value (an encoded string), alone they are booleans. */
function flatten(value: Nested): Value[] {
  if (typeof value !== "object" || value === null) return [value];
  if (isTyped(value)) return Array.from(value);
  return Array.from(value as readonly Nested[]).flatMap((item) =>
    isTyped(item) ? [item as unknown as Value] : flatten(item)
  );
}

/** Shape of nested plain arrays. */
function shapeOf(value: unknown): number[] {
  return Array.isArray(value) ? [value.length, ...shapeOf(value[0])] : [];
}

/** The text that a value stands for; Weft keeps string tensors as UTF-8 bytes, TensorFlow.js as JavaScript strings. */
function textOf(value: unknown): string {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value);
}

/** Returns the number of decimals in a number's text. */
function decimalsOf(literal: number): number {
  const [digits, exponent = "0"] = String(literal).split("e") as [string, string?];
  return (digits.split(".")[1]?.length ?? 0) - Number(exponent);
}

/** One unit in the last decimal a number is written with; 0 where it looks exact. */
function roundingOf(literal: number): number {
  const decimals = decimalsOf(literal);
  return decimals < FEWEST_ROUNDED_DECIMALS ? 0 : 10 ** -decimals;
}

/** The rounding of a list, for those of its literals that look exact: [1.414, 2.5] has three decimals. */
function roundingOfAll(literals: readonly unknown[]): number {
  return roundingOf(
    literals.map(Number).reduce((a, b) => decimalsOf(b) > decimalsOf(a) ? b : a, 0),
  );
}

interface Tolerance {
  /** The test's own absolute tolerance. */
  readonly epsilon: number | undefined;
  /** Rounding of the literals around it. */
  readonly rounding: number;
}

function isClose(actual: number, expected: number, { epsilon, rounding }: Tolerance): boolean {
  if (!Number.isFinite(expected) || !Number.isFinite(actual)) return Object.is(actual, expected);
  const error = Math.abs(actual - expected);
  const magnitude = Math.abs(expected);
  const limit = Math.max(epsilon ?? ABSOLUTE_TOLERANCE, 4 * FLOAT32_STEP * magnitude);
  if (epsilon !== undefined || isRounded) return error <= limit;
  const tight = Math.max(precision.floor, precision.relative * magnitude) +
    (roundingOf(expected) || rounding);
  return error <= Math.min(tight, limit);
}

let precision: Precision = PRECISION.cpu!;

let isRounded = false;

/** Says what the next comparisons are about: on which device, and with literals known to be badly rounded. */
export function expectFrom(device: string, rounded: boolean): void {
  precision = PRECISION[device] ?? PRECISION.cpu!;
  isRounded = rounded;
}

function compareArrays(
  actual: Nested,
  expected: Nested,
  agrees: (a: Value, e: Value) => boolean,
): void {
  if (isTyped(actual) === isTyped(expected)) {
    const [aType, eType] = [actual?.constructor.name, expected?.constructor.name];
    if (aType !== eType) {
      throw new Error(`Arrays are of different type: actual ${aType}, expected ${eType}`);
    }
  }
  if (Array.isArray(actual) && Array.isArray(expected)) {
    const [aShape, eShape] = [shapeOf(actual), shapeOf(expected)];
    if (aShape.join() !== eShape.join()) {
      throw new Error(`Arrays have different shapes: actual [${aShape}], expected [${eShape}]`);
    }
  }
  const a = flatten(actual);
  const e = flatten(expected);
  if (a.length !== e.length) {
    throw new Error(`Arrays have different lengths: actual ${a.length}, expected ${e.length}`);
  }
  for (let i = 0; i < e.length; i++) {
    if (!agrees(a[i]!, e[i]!)) {
      const around = (values: Value[]) => values.slice(Math.max(0, i - 4), i + 8).join(", ");
      throw new Error(
        `Arrays differ at ${i} of ${e.length}: actual ${a[i]}, expected ${e[i]}; ` +
          `around it actual [${around(a)}], expected [${around(e)}]`,
      );
    }
  }
  countAsExpectation();
}

function countAsExpectation(): void {
  (globalThis as unknown as { expect(): { nothing(): void } }).expect().nothing();
}

/** Passes where all numbers agree; `epsilon` is an absolute limit instead of ours. */
export function expectArraysClose(actual: Nested, expected: Nested, epsilon?: number): void {
  const tolerance = { epsilon, rounding: roundingOfAll(flatten(expected)) };
  compareArrays(actual, expected, (a, e) => isClose(Number(a), Number(e), tolerance));
}

/** Passes where all values are the same. */
export function expectArraysEqual(actual: Nested, expected: Nested): void {
  const wanted = typeof expected === "object" ? expected : [expected];
  compareArrays(actual, wanted, isSame);
}

function isSame(actual: Value, expected: Value): boolean {
  if (actual == null || expected == null) return actual == expected;
  const isText = [actual, expected].some((value) => typeof value === "string" || isTyped(value));
  if (isText) return textOf(actual) === textOf(expected);
  return Number(actual) === Number(expected) || Object.is(Number(actual), Number(expected));
}

/** Passes where two numbers agree. */
export function expectNumbersClose(actual: number, expected: number, epsilon?: number): void {
  if (!isClose(actual, expected, { epsilon, rounding: 0 })) {
    throw new Error(`Numbers differ: actual ${actual}, expected ${expected}`);
  }
  countAsExpectation();
}

/** Passes where every value lies in [low, high]. */
export function expectValuesInRange(actual: ArrayLike<number>, low: number, high: number): void {
  for (const value of Array.from(actual)) {
    // Written so that NaN fails; TensorFlow.js's own check lets it pass.
    if (!(value >= low && value <= high)) {
      throw new Error(`Value out of range: ${value}, expected ${low} to ${high}`);
    }
  }
}

/** Passes where the promise that `fn` makes is rejected. */
export function expectPromiseToFail(
  fn: () => Promise<unknown>,
  done: { (): void; fail(): void },
): void {
  fn().then(() => done.fail(), () => done());
  countAsExpectation();
}

/** The tolerance tests scale by hand. */
export function testEpsilon(): number {
  return ABSOLUTE_TOLERANCE;
}

/** Replaces text by its UTF-8 bytes, in place, as the tests expect. */
export function encodeStrings(values: unknown[]): unknown[] {
  for (const [i, value] of values.entries()) {
    if (Array.isArray(value)) encodeStrings(value);
    else values[i] = new TextEncoder().encode(value as string);
  }
  return values;
}
