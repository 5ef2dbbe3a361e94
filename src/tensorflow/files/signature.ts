/** Signatures of a SavedModel: functions of named tensors. */
import { counted } from "../../engine/core/arrays/shown.ts";
import { describe } from "../../engine/core/convert.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import type { SignatureTensor } from "./meta_graph.ts";

/** A signature: takes named tensors (or values that convert to tensors), resolves with named tensors. */
export interface Signature {
  /**
   * Calls the signature; inputs with a default may be omitted. Rejects with `ValueError` for others that are missing,
   * and for unknown ones.
   */
  (inputs?: Readonly<Record<string, TensorLike>>): Promise<Record<string, Tensor>>;
  /** Specs of its inputs, by name. */
  readonly inputs: Readonly<Record<string, TensorSpec>>;
  /** Specs of its outputs, by name. */
  readonly outputs: Readonly<Record<string, TensorSpec>>;
}

/** Specs by name. */
export function specsOf(tensors: readonly SignatureTensor[]): Record<string, TensorSpec> {
  return Object.fromEntries(tensors.map((t) => [t.key, TensorSpec(t.shape, t.dtype, t.key)]));
}

/** Formats a model: its signatures with their inputs and outputs, the names of its methods, the number of its variables. */
export function modelText(
  path: string,
  { signatures, methods, variables }: {
    readonly signatures: Readonly<Record<string, Signature>>;
    readonly methods: object;
    readonly variables: readonly unknown[];
  },
): string {
  const specs = (given: Readonly<Record<string, TensorSpec>>): string =>
    Object.entries(given).map(([name, spec]) => `${name} ${spec}`).join(", ");
  const lines = Object.entries(signatures).map(([name, { inputs, outputs }]) =>
    `\n  ${name}: ${specs(inputs)} -> ${specs(outputs)}`
  );
  const names = Object.keys(methods).map((name) => `, ${name}()`).join("");
  return `<SavedModel ${path}: ${counted(variables.length, "variable")}${names}${lines.join("")}>`;
}

/** Returns the arguments in the order of the inputs. Throws `ValueError` where they are missing or unknown. */
export function argumentsOf(
  signature: string,
  inputs: readonly SignatureTensor[],
  given: Readonly<Record<string, TensorLike>>,
): Tensor[] {
  const wanted = inputs.map((i) => i.key);
  const list = (names: readonly string[]): string => names.map((n) => `"${n}"`).join(", ");
  if (!isPlainObject(given)) {
    throw new ValueError(
      `Cannot call signature "${signature}": wanted an object with ${list(wanted)}, received ${
        describe(given)
      }`,
    );
  }
  const missing = inputs.filter((i) => given[i.key] === undefined && i.value === undefined)
    .map((i) => i.key);
  const unknown = Object.keys(given).filter((n) => !wanted.includes(n));
  if (missing.length > 0 || unknown.length > 0) {
    throw new ValueError(
      `Cannot call signature "${signature}": it takes ${list(wanted) || "nothing"}${
        missing.length > 0 ? `, ${list(missing)} is missing` : ""
      }${unknown.length > 0 ? `, ${list(unknown)} is unknown` : ""}`,
    );
  }
  return inputs.map(({ key, value }) => (given[key] ?? value) as Tensor);
}
