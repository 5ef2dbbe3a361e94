/** Ragged tensors on the host: rows of different lengths, given by splits, in one array of values. */
import { InvalidArgumentError } from "../../core/errors.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { sizeOf } from "../../core/shape.ts";

/** Most elements that an int32 can count. */
const MOST = 2 ** 31 - 1;

/** A ragged tensor: splits of each ragged dimension from the outermost, and the values of the innermost rows. */
export interface Ragged {
  /** For each dimension the begins of its rows, and the end of the last. */
  readonly splits: readonly (readonly number[])[];
  readonly values: NdArray;
}

/** Makes rows `start, start + delta, …` up to `limit`, exclusive. Operands are vectors of one length, or scalars. */
export function raggedRange(starts: NdArray, limits: NdArray, deltas: NdArray): Ragged {
  const operands = { starts, limits, deltas };
  for (const [name, { shape }] of Object.entries(operands)) {
    if (shape.length > 1) throw new InvalidArgumentError(`${name} must be a scalar or vector`);
  }
  const lengths = new Set(
    [starts, limits, deltas].filter((a) => a.shape.length === 1).map((a) => a.size),
  );
  if (lengths.size > 1) {
    throw new InvalidArgumentError("starts, limits, and deltas must have the same shape");
  }
  const rows = [...lengths][0] ?? 1;
  const at = (a: NdArray, i: number): number => Number(a.at(a.shape.length === 0 ? 0 : i));
  const splits = [0];
  for (let i = 0; i < rows; i++) {
    const start = at(starts, i), limit = at(limits, i), delta = at(deltas, i);
    if (delta === 0) throw new InvalidArgumentError("Requires delta != 0");
    const count = Math.max(0, Math.ceil((limit - start) / delta));
    if (!(count <= MOST)) {
      throw new InvalidArgumentError(`Requires ((limit - start) / delta) <= ${MOST}`);
    }
    splits.push(splits[i] + count);
  }
  const values = NdArray.zeros(starts.dtype, [splits[rows]]);
  const whole = starts.dtype === "int64";
  for (let i = 0; i < rows; i++) {
    const start = at(starts, i), delta = at(deltas, i);
    for (let k = splits[i]; k < splits[i + 1]; k++) {
      const value = start + (k - splits[i]) * delta;
      setElement(values, k, whole ? BigInt(value) : value);
    }
  }
  return { splits: [splits], values };
}

/** Gathers the rows of `params` that the indices name, with the indices' own shape as outer dimensions. */
export function raggedGather(params: Ragged, indices: NdArray): Ragged {
  const { splits, values } = params;
  if (values.shape.length === 0) throw new InvalidArgumentError("params.rank must be nonzero");
  splits.forEach((s, level) => checkSplits(s, splits[level + 1]?.length ?? values.shape[0] + 1));
  const rows = splits[0].length - 1;
  const wanted = Array.from({ length: indices.size }, (_, i) => {
    const row = Number(indices.at(i));
    if (row >= 0 && row < rows) return row;
    throw new InvalidArgumentError(`indices[${i}] = ${row} is not in [0, ${rows})`);
  });
  // The indices' dimensions but the last are regular rows.
  const outer = indices.shape.slice(0, -1).map((_, d) => {
    const parts = sizeOf(indices.shape.slice(0, d + 1)), length = indices.shape[d + 1];
    return Array.from({ length: parts + 1 }, (_, i) => i * length);
  });
  let ranges = wanted.map((row): [number, number] => [row, row + 1]);
  const inner = splits.map((level) => {
    const out = [0];
    for (const [from, to] of ranges) {
      for (let i = from; i < to; i++) out.push(out.at(-1)! + level[i + 1] - level[i]);
    }
    ranges = ranges.map(([from, to]) => [level[from], level[to]]);
    return out;
  });
  if (indices.shape.length === 0) inner.shift();
  return { splits: [...outer, ...inner], values: pickRows(values, ranges) };
}

function checkSplits(splits: readonly number[], limit: number): void {
  if (splits.length === 0) throw new InvalidArgumentError("Ragged splits may not be empty");
  if (splits[0] < 0) throw new InvalidArgumentError("Ragged splits must be non-negative");
  if (splits.at(-1)! >= limit) {
    throw new InvalidArgumentError("Ragged splits must not point past values");
  }
  if (splits.some((s, i) => i > 0 && s < splits[i - 1])) {
    throw new InvalidArgumentError("Ragged splits must be sorted in ascending order");
  }
}

function pickRows(values: NdArray, ranges: readonly (readonly [number, number])[]): NdArray {
  const [, ...rest] = values.shape;
  const width = sizeOf(rest);
  const count = ranges.reduce((n, [from, to]) => n + to - from, 0);
  const out = NdArray.zeros(values.dtype, [count, ...rest]);
  let place = 0;
  for (const [from, to] of ranges) {
    for (let i = from * width; i < to * width; i++) setElement(out, place++, values.at(i));
  }
  return out;
}

/** Encodings of a row partition. */
export type RowPartition = "FIRST_DIM_SIZE" | "VALUE_ROWIDS" | "ROW_SPLITS";

/** Returns the splits of each ragged dimension, from partitions of any kind. */
export function splitsOfPartitions(
  partitions: readonly (readonly number[])[],
  kinds: readonly RowPartition[],
): number[][] {
  const splits: number[][] = [];
  let rows = kinds[0] === "FIRST_DIM_SIZE" ? partitions[0][0] : partitions[0].length - 1;
  kinds.forEach((kind, i) => {
    if (kind === "FIRST_DIM_SIZE") {
      if (i === 0) return;
      throw new InvalidArgumentError("Cannot handle FIRST_DIM_SIZE after the first row partition");
    }
    const numbers = partitions[i];
    if (kind === "VALUE_ROWIDS" && i === 0) {
      throw new InvalidArgumentError("Cannot handle VALUE_ROWIDS in the first row partition");
    }
    const level = kind === "ROW_SPLITS" ? [...numbers] : splitsOfRowIds(numbers, rows);
    checkSplits(level, Infinity);
    if (level.length !== rows + 1) {
      throw new InvalidArgumentError(
        `Row partition ${i} is of ${
          level.length - 1
        } rows, but the one before it has ${rows} values`,
      );
    }
    splits.push(level);
    rows = kind === "ROW_SPLITS" ? level.at(-1)! : numbers.length;
  });
  return splits;
}

function splitsOfRowIds(ids: readonly number[], rows: number): number[] {
  const splits = [0];
  let at = 0;
  for (let row = 0; row < rows; row++) {
    while (at < ids.length && ids[at] === row) at++;
    splits.push(at);
  }
  if (at < ids.length) {
    throw new InvalidArgumentError(
      `Value row ids must be sorted and less than ${rows}, received ${ids[at]} at ${at}`,
    );
  }
  return splits;
}

/** Writes the values into `out`, which holds the default; values outside of its shape are skipped. */
export function scatterRagged({ splits, values }: Ragged, out: NdArray): void {
  const { shape } = out;
  const width = sizeOf(shape.slice(splits.length + 1));
  if (values.shape[0] < splits.at(-1)!.at(-1)!) {
    throw new InvalidArgumentError("Ragged splits must not point past values");
  }
  const steps = shape.map((_, d) => sizeOf(shape.slice(d + 1)));
  const walk = (level: number, from: number, to: number, place: number): void => {
    const count = Math.min(to - from, shape[level]);
    for (let i = 0; i < count; i++) {
      const at = place + i * steps[level];
      if (level < splits.length) {
        walk(level + 1, splits[level][from + i], splits[level][from + i + 1], at);
      } else {
        for (let k = 0; k < width; k++) setElement(out, at + k, values.at((from + i) * width + k));
      }
    }
  };
  walk(0, 0, splits[0].length - 1, 0);
}

/** Returns the least shape that holds all rows. */
export function naturalShape({ splits, values }: Ragged): number[] {
  const longest = splits.map((s) =>
    s.reduce((most, end, i) => (i === 0 ? 0 : Math.max(most, end - s[i - 1])), 0)
  );
  return [splits[0].length - 1, ...longest, ...values.shape.slice(1)];
}
