/** Signatures of a SavedModel: functions of named tensors. */
import { counted } from "../../engine/core/arrays/shown.ts";
import { describe } from "../../engine/core/convert.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import type { TracedFunction } from "../../engine/runtime/functions/function.ts";
import type { SignatureTensor } from "./meta_graph.ts";

/** A signature: takes named tensors (or values that convert to tensors), resolves with named tensors. */
export interface Signature {
  /**
   * Calls the signature; inputs with a default may be omitted. Rejects with `ValueError` for others that are missing,
   * and for unknown ones.
   */
  (inputs?: Readonly<Record<string, TensorLike>>): Promise<Record<string, Tensor>>;
  /**
   * Calls it at once: inside `minimize`, `tf.grad` and functions that are traced, which do not await. Throws what the call rejects with, and
   * `FailedPreconditionError` where something in it must be awaited.
   */
  sync(inputs?: Readonly<Record<string, TensorLike>>): Record<string, Tensor>;
  /** Specs of its inputs, by name. */
  readonly inputs: Readonly<Record<string, TensorSpec>>;
  /** Specs of its outputs, by name. */
  readonly outputs: Readonly<Record<string, TensorSpec>>;
}

/** Makes a signature of the function that computes its outputs. */
export function signatureOf(
  name: string,
  inputs: readonly SignatureTensor[],
  outputs: readonly SignatureTensor[],
  computed: () => TracedFunction<Tensor[], Tensor[]>,
): Signature {
  const named = (results: readonly Tensor[]): Record<string, Tensor> =>
    Object.fromEntries(outputs.map(({ key }, i) => [key, results[i]]));
  type Given = Readonly<Record<string, TensorLike>>;
  const call = async (given: Given = {}): Promise<Record<string, Tensor>> =>
    named(await computed().async(...argumentsOf(name, inputs, given)));
  const sync = (given: Given = {}): Record<string, Tensor> =>
    named(computed()(...argumentsOf(name, inputs, given)));
  return Object.assign(call, { inputs: specsOf(inputs), outputs: specsOf(outputs), sync });
}

/** Specs by name. */
function specsOf(tensors: readonly SignatureTensor[]): Record<string, TensorSpec> {
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
function argumentsOf(
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
