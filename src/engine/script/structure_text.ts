/** Structures of a script's arguments and results as texts, which GraphDefs hold. */
import { CompositeSpec } from "../core/composite.ts";
import type { DType } from "../core/dtype.ts";
import { UnimplementedError, ValueError } from "../core/errors.ts";
import { flatten, isNested, type Nest, packAs } from "../core/nest.ts";
import { isPartialShape } from "../core/shape.ts";
import { RaggedTensorSpec } from "../ops/ragged/ragged_tensor.ts";
import { SparseTensorSpec } from "../ops/ragged/sparse_tensor.ts";

/** Writes a nest as JSON: tensors as numbers, specs of ragged and sparse tensors as texts. */
export function structureToText(nest: unknown): string {
  const leaves = flatten(nest as Nest<unknown>).map((leaf) =>
    leaf instanceof CompositeSpec ? specText(leaf) : 0
  );
  return JSON.stringify(isNested(nest) ? packAs(nest, leaves) : leaves[0]);
}

function specText(spec: CompositeSpec): string {
  if (spec instanceof RaggedTensorSpec) {
    return JSON.stringify(["ragged", spec.shape, spec.dtype, spec.raggedRank]);
  }
  if (spec instanceof SparseTensorSpec) return JSON.stringify(["sparse", spec.shape, spec.dtype]);
  throw new UnimplementedError(`Cannot write ${spec} in the structure of a script to a GraphDef`);
}

/** Reads a nest of the attribute `name`: it has `leaves` tensors, those of composite values among them. */
export function structureOfText(
  text: string,
  { name, leaves: wanted }: { readonly name: string; readonly leaves: number },
): unknown {
  let nest: unknown;
  try {
    nest = JSON.parse(text);
  } catch (cause) {
    throw new ValueError(`attribute "${name}" is no JSON: ${(cause as Error).message}`);
  }
  let n = 0;
  const leaves = flatten(nest as Nest<unknown>).map((leaf) => {
    const spec = typeof leaf === "string" ? specOf(leaf, name, wanted) : 0;
    n += spec === 0 ? 1 : spec.components.length;
    return spec;
  });
  if (n !== wanted || (name === "_script_args" && !Array.isArray(nest))) {
    throw new ValueError(`attribute "${name}" has ${n} values, wanted ${wanted} in a list`);
  }
  return isNested(nest) ? packAs(nest, leaves) : leaves[0];
}

/** Reads the spec of a composite value with at most `most` components. */
function specOf(leaf: string, name: string, most: number): CompositeSpec {
  try {
    const [kind, shape, dtype, raggedRank = 0] = JSON.parse(leaf) as [string, ...unknown[]];
    if (isPartialShape(shape) && (raggedRank as number) < most) {
      if (kind === "sparse") return new SparseTensorSpec(shape, dtype as DType);
      if (kind === "ragged") {
        return new RaggedTensorSpec(shape, dtype as DType, raggedRank as number);
      }
    }
  } catch {
    // The error below says what is wrong.
  }
  throw new ValueError(`attribute "${name}" has no spec of a ragged or sparse tensor: "${leaf}"`);
}
