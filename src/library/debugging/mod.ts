/** The namespace `tf.debugging`: assertions about values, in eager code, functions and sessions. */
export {
  assert,
  assertEqual,
  assertGreater,
  assertGreaterEqual,
  assertLess,
  assertLessEqual,
  assertNear,
  type AssertNearOptions,
  assertNegative,
  assertNoneEqual,
  assertNonNegative,
  assertNonPositive,
  type AssertOptions,
  assertPositive,
} from "./assert.ts";
export {
  assertInteger,
  assertRank,
  assertRankAtLeast,
  assertRankIn,
  assertSameFloatDtype,
  assertScalar,
  assertShapes,
  assertType,
  type NamedDimension,
} from "./assert_type.ts";
export {
  assertAllFinite,
  checkNumerics,
  disableCheckNumerics,
  enableCheckNumerics,
} from "./check_numerics.ts";
export {
  disableTracebackFiltering,
  enableTracebackFiltering,
  isTracebackFilteringEnabled,
} from "./traceback.ts";
