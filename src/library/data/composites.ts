/** Structures of elements as JSON, with placeholders of composite values. */
import { UnimplementedError } from "../../engine/core/errors.ts";
import { CompositeSpec } from "../../engine/core/composite.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { isPlainObject, setKey } from "../../engine/core/nest.ts";
import { RaggedTensorSpec } from "../../engine/ops/ragged/ragged_tensor.ts";
import { SparseTensorSpec } from "../../engine/ops/ragged/sparse_tensor.ts";

/** The key that marks a composite value. */
const COMPOSITE = "$";

/** Encodes a structure. Throws `UnimplementedError` for windows, which are no values. */
export function structureToJson(structure: unknown): unknown {
  if (Array.isArray(structure)) return structure.map(structureToJson);
  if (isPlainObject(structure)) {
    return Object.fromEntries(
      Object.entries(structure).map(([key, value]) => [key, structureToJson(value)]),
    );
  }
  if (structure instanceof RaggedTensorSpec) {
    const { shape, dtype, raggedRank } = structure;
    return { [COMPOSITE]: "ragged", shape, dtype, raggedRank };
  }
  if (structure instanceof SparseTensorSpec) {
    return { [COMPOSITE]: "sparse", shape: structure.shape, dtype: structure.dtype };
  }
  if (!(structure instanceof CompositeSpec)) return 0;
  throw new UnimplementedError(`Cannot write elements of ${structure} to a file`);
}

/** Decodes a structure. */
export function structureFromJson(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(structureFromJson);
  if (!isPlainObject(json)) return 0;
  const { [COMPOSITE]: kind, shape, dtype, raggedRank } = json;
  if (kind === "ragged") {
    return new RaggedTensorSpec(shape as number[], dtype as DType, raggedRank as number);
  }
  if (kind === "sparse") return new SparseTensorSpec(shape as number[], dtype as DType);
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(json)) setKey(out, key, structureFromJson(value));
  return out;
}
