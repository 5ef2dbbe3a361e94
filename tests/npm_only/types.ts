/**
 * Stands in for `@std/testing/types` on machines that reach npm but not JSR (see tools/jsr.ts).
 *
 * @module
 */

/** Asserts at compile time that a type is `true`. */
export function assertType<T extends boolean>(_expectTrue: T): void {}

/** True for two equal types. */
export type IsExact<T, U> = (<X>() => X extends T ? 1 : 2) extends <X>() => X extends U ? 1 : 2
  ? true
  : false;

/** True for `any`. */
export type IsAny<T> = 0 extends 1 & T ? true : false;

/** True for `never`. */
export type IsNever<T> = [T] extends [never] ? true : false;

/** True for `unknown`. */
export type IsUnknown<T> = IsAny<T> extends true ? false : unknown extends T ? true : false;

/** True for a type that includes `null` or `undefined`. */
export type IsNullable<T> = Extract<T, null | undefined> extends never ? false : true;

/** True for a union with a member. */
export type Has<T, U> = IsAny<T> extends true ? true : IsAny<U> extends true ? false
: Extract<T, U> extends never ? false
: true;

/** True for a union without a member. */
export type NotHas<T, U> = Has<T, U> extends false ? true : false;
