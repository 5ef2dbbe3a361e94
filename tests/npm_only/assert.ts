/**
 * Stands in for `@std/assert` on machines that reach npm but not JSR (see tools/jsr.ts): the same
 * names, types and rules for what our tests use of it, over `node:assert` for the difference texts.
 *
 * @module
 */

import { AssertionError as NodeAssertionError } from "node:assert";
import { equal } from "./equal.ts";

export { equal };

/** Thrown when an assertion does not hold. */
export class AssertionError extends Error {
  /** Makes one with the given text. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AssertionError";
  }
}

/** Values that are false in a condition. */
export type Falsy = false | 0 | 0n | "" | null | undefined;

type ClassOf<T> = abstract new (...args: never[]) => T;

function refuse(text: string, msg?: string): never {
  throw new AssertionError(msg === undefined ? text : `${text.replace(/\.$/, "")}: ${msg}`);
}

function show(value: unknown): string {
  return Deno.inspect(value, {
    depth: 6,
    sorted: true,
    trailingComma: true,
    strAbbreviateSize: 1e4,
  });
}

function difference(actual: unknown, expected: unknown): string {
  return new NodeAssertionError({ actual, expected, operator: "deepStrictEqual" }).message;
}

/** Asserts that `expr` is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Asserts that `expr` is falsy. */
export function assertFalse(expr: unknown, msg?: string): asserts expr is Falsy {
  if (expr) refuse(`Expected actual: ${show(expr)} to be falsy.`, msg);
}

/** Fails. */
export function fail(msg?: string): never {
  refuse("Failed assertion.", msg);
}

/** Fails, for places that must not be reached. */
export function unreachable(reason?: string): never {
  refuse("Unreachable.", reason);
}

/** Asserts that two values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  refuse(
    `Values are not equal${msg === undefined ? "" : `: ${msg}`}.\n${difference(actual, expected)}`,
  );
}

/** Asserts that two values are not deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) refuse(`Expected actual: ${show(actual)} not to be equal.`, msg);
}

/** Asserts that two values are the same by `Object.is`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (!Object.is(actual, expected)) {
    refuse(`Values are not strictly equal: ${show(actual)} and ${show(expected)}.`, msg);
  }
}

/** Asserts that two values are not the same by `Object.is`. */
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void {
  if (Object.is(actual, expected)) refuse(`Expected "actual" not to be: ${show(actual)}.`, msg);
}

/** Asserts that two numbers differ by at most `tolerance`, by default one ten-millionth. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
): void {
  if (Object.is(actual, expected)) return;
  const limit = tolerance ?? (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  const delta = Math.abs(expected - actual);
  if (delta <= limit) return;
  refuse(
    `Expected actual: "${actual}" to be close to "${expected}": delta "${delta}" is greater than "${limit}".`,
    msg,
  );
}

/** Asserts that a value is neither null nor undefined. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) {
    refuse(`Expected actual: "${actual}" to not be null or undefined.`, msg);
  }
}

/** Asserts that `actual` is an instance of `expectedType`. */
export function assertInstanceOf<T extends ClassOf<unknown>>(
  actual: unknown,
  expectedType: T,
  msg = "",
): asserts actual is InstanceType<T> {
  if (actual instanceof expectedType) return;
  const found = (actual as object | null)?.constructor?.name ?? typeof actual;
  refuse(
    `Expected object to be an instance of "${expectedType.name}" but was "${found}".`,
    msg || undefined,
  );
}

/** Asserts that `actual` is not an instance of `unexpectedType`. */
export function assertNotInstanceOf<A, T>(
  actual: A,
  unexpectedType: ClassOf<T>,
  msg?: string,
): asserts actual is Exclude<A, T> {
  if (actual instanceof unexpectedType) {
    refuse(`Expected object to not be an instance of "${unexpectedType.name}".`, msg);
  }
}

/** Asserts that a text matches a pattern. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (!expected.test(actual)) refuse(`Expected actual: "${actual}" to match: "${expected}".`, msg);
}

/** Asserts that a text does not match a pattern. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void {
  if (expected.test(actual)) {
    refuse(`Expected actual: "${actual}" to not match: "${expected}".`, msg);
  }
}

/** Asserts that a text contains another. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (!actual.includes(expected)) {
    refuse(`Expected actual: "${actual}" to contain: "${expected}".`, msg);
  }
}

/** Asserts that an array has all members of another. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  msg?: string,
): void {
  const members = Array.from(actual);
  const missing = Array.from(expected).filter((item) => !members.some((m) => equal(item, m)));
  if (missing.length > 0) {
    refuse(`Expected actual: ${show(actual)} to include: ${show(missing)}.`, msg);
  }
}

/** Asserts that `expected` is a subset of `actual`, at every depth. */
export function assertObjectMatch(
  actual: Record<PropertyKey, unknown>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  if (!contains(actual, expected)) {
    refuse(`Values do not match.\n${difference(actual, expected)}`, msg);
  }
}

function contains(actual: unknown, expected: unknown): boolean {
  const isPlain = (value: unknown) =>
    typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain(expected)) return equal(actual, expected);
  if (typeof actual !== "object" || actual === null) return false;
  return Object.entries(expected as object).every(([key, value]) =>
    key in actual && contains((actual as Record<string, unknown>)[key], value)
  );
}

/** Asserts that `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual > expected)) refuse(`Expect ${show(actual)} > ${show(expected)}.`, msg);
}

/** Asserts that `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual >= expected)) refuse(`Expect ${show(actual)} >= ${show(expected)}.`, msg);
}

/** Asserts that `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual < expected)) refuse(`Expect ${show(actual)} < ${show(expected)}.`, msg);
}

/** Asserts that `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual <= expected)) refuse(`Expect ${show(actual)} <= ${show(expected)}.`, msg);
}

/** Asserts that `error` is an `ErrorClass` whose message contains or matches `msgMatches`. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  ErrorClass?: ClassOf<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) refuse(`Expected "error" to be an Error object.`, msg);
  if (ErrorClass && !(error instanceof ErrorClass)) {
    const wanted = `Expected error to be instance of "${ErrorClass.name}"`;
    refuse(`${wanted}, but was "${error.constructor.name}": ${error.message}`, msg);
  }
  const isMatch = msgMatches === undefined ||
    (typeof msgMatches === "string"
      ? error.message.includes(msgMatches)
      : msgMatches.test(error.message));
  if (!isMatch) {
    refuse(
      `Expected error message to include ${show(msgMatches)}, but got "${error.message}".`,
      msg,
    );
  }
}

/** Asserts that `fn` throws, and returns what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Asserts that `fn` throws an `ErrorClass`, and returns it. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: ClassOf<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(fn: () => unknown, ...expected: Expected): unknown {
  try {
    fn();
  } catch (error) {
    return checkThrown(error, expected);
  }
  refuse("Expected function to throw.", messageOf(expected));
}

/** Asserts that the promise of `fn` rejects, and returns what with. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
/** Asserts that the promise of `fn` rejects with an `ErrorClass`, and returns it. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: ClassOf<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  ...expected: Expected
): Promise<unknown> {
  let promise: PromiseLike<unknown> | undefined;
  try {
    promise = fn();
    await promise;
  } catch (error) {
    // As in @std/assert: an error before there is a promise is not a rejection.
    if (promise === undefined) refuse("Function throws when expected to reject.");
    return checkThrown(error, expected);
  }
  refuse("Expected function to reject.", messageOf(expected));
}

/** The arguments after the function: a message, or a class, a part of its text, and a message. */
type Expected = [classOrMsg?: ClassOf<Error> | string, msgIncludes?: string, msg?: string];

function messageOf([classOrMsg, , msg]: Expected): string | undefined {
  return typeof classOrMsg === "string" ? classOrMsg : msg;
}

function checkThrown(error: unknown, [classOrMsg, msgIncludes, msg]: Expected): unknown {
  if (typeof classOrMsg === "function") assertIsError(error, classOrMsg, msgIncludes, msg);
  return error;
}
