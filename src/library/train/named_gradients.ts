/** Gradients as optimizers take them: by name, in a list, or in pairs with their variables. */
import { wantObject, wrongArgument } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { variableByName } from "../../engine/runtime/variables/known_variables.ts";
import { Variable } from "../../engine/runtime/variables/variable.ts";

/** A tensor with a name. */
export interface NamedTensor {
  /** The name. */
  readonly name: string;
  /** The tensor; null where there is no gradient. */
  readonly tensor: Tensor | null;
}

/** Gradients by variable name, as a list with names, or in pairs with their variables: `[gradient, variable]`. */
export type NamedGradients =
  | Readonly<Record<string, Tensor | null>>
  | readonly NamedTensor[]
  | readonly (readonly (Tensor | null)[])[];

/** Pairs of gradients and variables, in whichever form they were given. Throws `ValueError` for unknown names, `TypeError` for a pair without a variable. */
export function gradientPairs(gradients: NamedGradients): (readonly [Tensor | null, Variable])[] {
  const list = Array.isArray(gradients)
    ? gradients as readonly (NamedTensor | readonly [Tensor | null, Tensor])[]
    : Object.entries(gradients).map(([name, tensor]) => ({ name, tensor }));
  return list.map((given, i) => {
    if (!Array.isArray(given)) {
      if (given instanceof Tensor) {
        const wanted =
          "a gradient with its variable, as gradients.map((g, i) => [g, variables[i]]) makes them";
        throw wrongArgument(given, `gradients[${i}]`, "applyGradients", wanted);
      }
      wantObject(
        given,
        `gradients[${i}]`,
        "applyGradients",
        "a gradient with its variable or name",
      );
      const { name, tensor } = given as NamedTensor;
      const v = variableByName(name);
      if (v) return [tensor ?? null, v];
      throw new ValueError(
        `Cannot apply the gradient of '${name}': there is no variable of that name`,
      );
    }
    const [tensor, v] = given;
    if (v instanceof Variable) return [tensor ?? null, v];
    throw wrongArgument(v, `gradients[${i}][1]`, "applyGradients", "a variable");
  });
}
