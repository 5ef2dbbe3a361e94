/**
 * Texts of errors that sparse ops throw, and the console.
 */
import { env } from "../environment.ts";

/** Rows are said to be none, and there are values. */
export function getSparseFillEmptyRowsIndicesDenseShapeMismatch(indicesLength: number): string {
  return `Received a dense shape of no rows, but indices.shape[0] = ${indicesLength}`;
}
/** An index is negative. */
export function getSparseFillEmptyRowsNegativeIndexErrorMessage(
  index: number,
  value: number,
): string {
  return `indices(${index}, 0) is invalid: ${value} < 0`;
}
/** An index is too large. */
export function getSparseFillEmptyRowsOutOfRangeIndexErrorMessage(
  index: number,
  value: number,
  limit: number,
): string {
  return `indices(${index}, 0) is invalid: ${value} >= ${limit}`;
}
/** Two dimensions are free. */
export function getSparseReshapeMultipleNegativeOneOutputDimErrorMessage(
  dim1: number,
  dim2: number,
): string {
  return `only one output dimension may be -1, not both ${dim1} and ${dim2}`;
}
/** A dimension is negative. */
export function getSparseReshapeNegativeOutputDimErrorMessage(dim: number, value: number): string {
  return `size ${dim} must be non-negative, not ${value}`;
}
/** Nothing says how large the free dimension is. */
export function getSparseReshapeEmptyTensorZeroOutputDimErrorMessage(): string {
  return "the free dimension cannot be told: the tensor is empty and a given dimension is 0";
}
/** The free dimension is no integer. */
export function getSparseReshapeInputOutputMultipleErrorMessage(
  inputShape: readonly number[],
  outputShape: readonly number[],
): string {
  return `Elements of [${inputShape}] are no multiple of those of [${outputShape}]`;
}
/** The numbers of elements differ. */
export function getSparseReshapeInputOutputMismatchErrorMessage(
  inputShape: readonly number[],
  outputShape: readonly number[],
): string {
  return `Elements of [${inputShape}] are not as many as those of [${outputShape}]`;
}
/** A segment is negative. */
export function getSparseSegmentReductionNegativeSegmentIdsErrorMessage(): string {
  return "segment ids must be >= 0";
}
/** Segments are out of order. */
export function getSparseSegmentReductionNonIncreasingSegmentIdsErrorMessage(): string {
  return "segment ids are not increasing";
}
/** A segment is too large. */
export function getSparseSegmentReductionSegmentIdOutOfRangeErrorMessage(
  segmentId: number,
  outputRows: number,
): string {
  return `Segment id ${segmentId} out of range [0, ${outputRows}): segments may be out of order`;
}
/** An index is out of range. */
export function getSparseSegmentReductionIndicesOutOfRangeErrorMessage(
  index: number,
  indexValue: number,
  inputRows: number,
): string {
  return `Bad: indices[${index}] == ${indexValue} out of range [0, ${inputRows})`;
}

function isQuiet(): boolean {
  return env().getBool("IS_TEST") || env().getBool("PROD");
}
/** Warns on the console, but not in tests. */
export function warn(...msg: unknown[]): void {
  if (!isQuiet()) console.warn(...msg);
}
/** Writes on the console, but not in tests. */
export function log(...msg: unknown[]): void {
  if (!isQuiet()) console.log(...msg);
}
