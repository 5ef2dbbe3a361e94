/** Error texts of sparse ops, and output to the console. */
import { env } from "../environment.ts";

/** Returns the text for a dense shape without rows beside values. */
export function getSparseFillEmptyRowsIndicesDenseShapeMismatch(indicesLength: number): string {
  return `Received a dense shape of no rows, but indices.shape[0] = ${indicesLength}`;
}
/** Returns the text for a negative index. */
export function getSparseFillEmptyRowsNegativeIndexErrorMessage(
  index: number,
  value: number,
): string {
  return `indices(${index}, 0) is invalid: ${value} < 0`;
}
/** Returns the text for an index that is too large. */
export function getSparseFillEmptyRowsOutOfRangeIndexErrorMessage(
  index: number,
  value: number,
  limit: number,
): string {
  return `indices(${index}, 0) is invalid: ${value} >= ${limit}`;
}
/** Returns the text for two free dimensions. */
export function getSparseReshapeMultipleNegativeOneOutputDimErrorMessage(
  dim1: number,
  dim2: number,
): string {
  return `only one output dimension may be -1, not both ${dim1} and ${dim2}`;
}
/** Returns the text for a negative dimension. */
export function getSparseReshapeNegativeOutputDimErrorMessage(dim: number, value: number): string {
  return `size ${dim} must be non-negative, not ${value}`;
}
/** Returns the text for a free dimension that nothing determines. */
export function getSparseReshapeEmptyTensorZeroOutputDimErrorMessage(): string {
  return "the free dimension cannot be told: the tensor is empty and a given dimension is 0";
}
/** Returns the text for a fractional free dimension. */
export function getSparseReshapeInputOutputMultipleErrorMessage(
  inputShape: readonly number[],
  outputShape: readonly number[],
): string {
  return `Elements of [${inputShape}] are no multiple of those of [${outputShape}]`;
}
/** Returns the text for different numbers of elements. */
export function getSparseReshapeInputOutputMismatchErrorMessage(
  inputShape: readonly number[],
  outputShape: readonly number[],
): string {
  return `Elements of [${inputShape}] are not as many as those of [${outputShape}]`;
}
/** Returns the text for a negative segment. */
export function getSparseSegmentReductionNegativeSegmentIdsErrorMessage(): string {
  return "segment ids must be >= 0";
}
/** Returns the text for segments out of order. */
export function getSparseSegmentReductionNonIncreasingSegmentIdsErrorMessage(): string {
  return "segment ids are not increasing";
}
/** Returns the text for a segment that is too large. */
export function getSparseSegmentReductionSegmentIdOutOfRangeErrorMessage(
  segmentId: number,
  outputRows: number,
): string {
  return `Segment id ${segmentId} out of range [0, ${outputRows}): segments may be out of order`;
}
/** Returns the text for an index out of range. */
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
/** Warns on the console, except in tests. */
export function warn(...msg: unknown[]): void {
  if (!isQuiet()) console.warn(...msg);
}
/** Logs on the console, except in tests. */
export function log(...msg: unknown[]): void {
  if (!isQuiet()) console.log(...msg);
}
