/** Functions that make a dataset of an element: calls, traces and result types. */
import { describe } from "../../../engine/core/convert.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";
import { OperatorNotAllowedInGraphError } from "../../../engine/core/errors.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { scalar } from "../../../engine/ops/array/creation.ts";
import { identity } from "../../../engine/ops/array/view.ts";
import { EagerTensor, type Owned, withOwner } from "../../../engine/runtime/eager/tensor.ts";
import { ConcreteFunction } from "../../../engine/runtime/functions/concrete_function.ts";
import { checkCallable } from "../../../engine/script/script.ts";
import type { Tout } from "../../../engine/script/tout.ts";
import {
  asTensors,
  checkElement,
  commonType,
  declaredType,
  type Element,
  type ElementType,
} from "../element.ts";
import { type Elements, Failure, type Place, type Source, type State } from "../source.ts";
import {
  argumentsOf,
  type ElementFunction,
  functionError,
  type FunctionOf,
  onHost,
  traceOnHost,
} from "../trace.ts";

/** A call for one element of the input of a stage. */
interface InnerCall {
  readonly fn: ElementFunction;
  readonly element: Element;
  readonly input: ElementType;
  readonly source: Source;
}

/**
 * Calls a function for an element's dataset. The tensors that it makes are freed when the pass over that dataset is
 * closed, and so are those that the dataset's own functions captured.
 */
export function openInner(
  { fn, element, input, source }: InnerCall,
  place: Place,
): (state?: State) => Elements {
  const owned: Owned[] = [];
  const free = (): void => {
    for (const t of owned.splice(0)) {
      if (!(t instanceof EagerTensor) || !t.kept || t.kept === "captured") t.dispose();
    }
  };
  let inner: Source;
  try {
    inner = withOwner(owned, () => onHost(() => callFor(fn, element, input, source.kind)));
    commonType([source, inner], source.kind);
  } catch (error) {
    free();
    throw functionError(error, source.name, place);
  }
  return (state) => {
    let elements: Elements;
    try {
      elements = inner.open(place, state);
    } catch (error) {
      free();
      throw error;
    }
    return {
      async next() {
        const item = await elements.next();
        if (item !== null && !(item instanceof Failure)) checkElement(item, source.specs);
        return item;
      },
      save: () => elements.save(),
      async close() {
        try {
          await elements.close();
        } finally {
          free();
        }
      },
    };
  };
}

function callFor(
  fn: ElementFunction,
  element: Element,
  { structure }: ElementType,
  method: string,
): Source {
  return sourceOf(fn(...argumentsOf(fn, asTensors(element, structure))), method);
}

/** Returns the stage of a function's result. Throws `TypeError` for a result that is no dataset. */
function sourceOf(made: unknown, method: string): Source {
  const source = (made as { readonly source?: Partial<Source> } | null | undefined)?.source;
  if (typeof source?.open === "function") return source as Source;
  throw new TypeError(
    `\`mapFunc\` of ${method} must return a Dataset object. Got ${describe(made)}`,
  );
}

/** Traces a function that makes datasets; the trace returns the tensors that `needs` asks for. */
export function traceInner(
  call: FunctionOf,
  needs: (made: Source) => readonly Tensor[],
): ConcreteFunction {
  return new ConcreteFunction(traceOnHost(call, (made) => {
    const needed = needs(sourceOf(made, call.method));
    return needed.length > 0 ? needed.map((t) => identity(t)) : [scalar(0)];
  }));
}

/** Returns the element type of a function's datasets: the declared one, else that of a call with symbolic tensors. */
export function innerType(
  input: Source,
  fn: ElementFunction,
  { outputSignature, method }: { readonly outputSignature?: Tout; readonly method: string },
): ElementType {
  checkCallable(fn);
  if (outputSignature !== undefined) return declaredType(outputSignature);
  let type: ElementType | undefined;
  const isWindow = input.specs.every(({ dtype }) => dtype === "variant");
  if (isWindow) {
    const empty = input.specs.map(() => new NdArray("variant", [], [[]]));
    type = onHost(() => callFor(fn, empty, input, method));
  } else {
    try {
      traceInner({ fn, input, method }, (made) => {
        type = made;
        return [];
      });
    } catch (error) {
      if (error instanceof OperatorNotAllowedInGraphError) {
        error.message +=
          `. To learn what its datasets hold, ${method}() calls the function without values: pass { outputSignature } to say it, and the function is called with values alone`;
      }
      throw error;
    }
  }
  const { specs, structure } = type!;
  return { specs, structure };
}
