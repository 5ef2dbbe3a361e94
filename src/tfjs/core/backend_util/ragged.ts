/** Partitions of ragged tensors. */
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Encodings of a partition into rows. */
export enum RowPartitionType {
  /** The number of rows. */
  FIRST_DIM_SIZE,
  /** The row of each value. */
  VALUE_ROWIDS,
  /** The length of each row. */
  ROW_LENGTHS,
  /** The beginnings and the end of rows. */
  ROW_SPLITS,
  /** The ends of rows. */
  ROW_LIMITS,
  /** The beginnings of rows. */
  ROW_STARTS,
}

/** Fills the unknown dimensions of the requested shape from the values. Throws where both differ. */
export function combineRaggedTensorToTensorShapes(
  raggedRank: number,
  shape: readonly number[] | null | undefined,
  valueShape: readonly number[] | null | undefined,
): number[] {
  if (!valueShape && !shape) return [];
  const unknown = new Array<number>(raggedRank + (valueShape?.length ?? 0)).fill(-1);
  const out = shape ? [...shape] : unknown;
  if (!valueShape) return out;
  if (raggedRank + valueShape.length !== out.length) {
    throw new Error(
      `Cannot give rows the shape [${out}]: values of [${valueShape}] in ${raggedRank} partitions have another rank`,
    );
  }
  valueShape.slice(1).forEach((extent, i) => {
    const at = out.length - valueShape.length + 1 + i;
    if (extent < 0) return;
    if (out[at] >= 0 && out[at] !== extent) {
      throw new Error(`Cannot give rows the shape [${out}]: values have ${extent} at axis ${at}`);
    }
    out[at] = extent;
  });
  return out;
}
/** Parses names of partitions; the list ends at an unknown one. */
export function getRowPartitionTypesHelper(rowPartitionTypeStrings: string[]): RowPartitionType[] {
  const known = rowPartitionTypeStrings.findIndex((name) => !(name in RowPartitionType));
  const names = known < 0 ? rowPartitionTypeStrings : rowPartitionTypeStrings.slice(0, known);
  return names.map((name) => RowPartitionType[name as keyof typeof RowPartitionType]);
}
/** Number of ragged axes. */
export function getRaggedRank(rowPartitionTypes: readonly RowPartitionType[]): number {
  const [first] = rowPartitionTypes;
  return rowPartitionTypes.length - Number(first === RowPartitionType.FIRST_DIM_SIZE);
}
/** Throws where a default value does not broadcast to the values. */
export function validateDefaultValueShape(
  defaultValueShape: readonly number[] | null | undefined,
  valueShape: readonly number[] | null | undefined,
): void {
  if (!defaultValueShape || !valueShape) return;
  const isFitting = defaultValueShape.length < valueShape.length &&
    defaultValueShape.slice(0, valueShape.length - 1).every((extent, i) => {
      const wanted = valueShape[i + 1];
      return extent < 0 || wanted < 0 || extent === 1 || extent === wanted;
    });
  if (isFitting) return;
  throw new Error(
    `Cannot fill rows by a default value of [${defaultValueShape}]: values are [${valueShape}]`,
  );
}
