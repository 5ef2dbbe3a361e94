/** Functions that carry a state from element to element: `scan`, a stage, and `reduce`, the end of a pipeline. */

import { kindText } from "../../engine/core/composite.ts";
import { commonType, type Element, type ElementType } from "./element.ts";
import { Failure, type Outcome, type Source } from "./source.ts";
import { keepValues } from "./sources.ts";
import { stageOver } from "./stage.ts";
import { type ElementFunction, type Traced, traceFunction } from "./trace.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";

/** A traced function of a state and an element, with the type of the state. */
interface Carrying {
  readonly traced: Traced;
  readonly state: ElementType;
  /** The initial state. */
  readonly initial: Promise<Element>;
  /** Number of the function's results that are the new state. */
  readonly carried: number;
}

/** Traces a function of a state and an element. Shapes of the state that change from element to element become unknown. */
function traceCarrying(
  input: Source,
  initialState: unknown,
  fn: ElementFunction,
  method: "scan" | "reduce",
): Carrying {
  const { specs, structure, arrays } = keepValues(initialState);
  let state: ElementType = { specs, structure };
  for (;;) {
    const both: ElementType = {
      specs: [...state.specs, ...input.specs],
      structure: [state.structure, input.structure],
    };
    const traced = traceFunction(exact(fn), both, method);
    const carried = state.specs.length;
    const parts = method === "reduce" ? [traced.structure] : traced.structure;
    if (!Array.isArray(parts) || (method === "scan" && parts.length !== 2)) {
      throw new TypeError(
        "The scan function must return a pair: the new state and the output",
      );
    }
    const given: ElementType = {
      specs: traced.specs.slice(0, carried),
      structure: parts[0],
    };
    const fits = kindText(given.structure) === kindText(state.structure) &&
      given.specs.length === carried &&
      given.specs.every(({ dtype }, i) => dtype === state.specs[i].dtype);
    if (!fits) {
      throw new TypeError(
        `The element types for the new state must match the initial state. Expected (${
          state.specs.join(", ")
        }); got (${given.specs.join(", ")}).`,
      );
    }
    const common = commonType([state, given], method);
    if (String(common.specs) === String(state.specs)) {
      return { traced, state, initial: arrays, carried };
    }
    state = common;
  }
}

/** Wraps a function so that it takes exactly two arguments. */
function exact(fn: ElementFunction): ElementFunction {
  return typeof fn === "function" ? (state, element) => fn(state, element) : fn;
}

/** Yields the outputs of a function that carries a state. */
export function scanSource(input: Source, initialState: unknown, fn: ElementFunction): Source {
  const { traced, initial, carried } = traceCarrying(input, initialState, fn, "scan");
  const [, output] = traced.structure as readonly unknown[];
  return stageOver(input, {
    kind: "Scan",
    specs: traced.specs.slice(carried),
    structure: output,
    traced,
    begin: (): { carried: Element | null } => ({ carried: null }),
    async next({ input, own, call }) {
      const item = await input.next();
      if (item === null || item instanceof Failure) return item;
      const results = await call([...own.carried ?? await initial, ...item]);
      if (results instanceof Failure) return results;
      own.carried = results.slice(0, carried);
      return results.slice(carried);
    },
  });
}

/** Makes a dataset of one element, the state after all elements. */
export function reducedSource(input: Source, initialState: unknown, fn: ElementFunction): Source {
  const { traced, state, initial } = traceCarrying(input, initialState, fn, "reduce");
  return stageOver(input, {
    kind: "Reduce",
    ...state,
    size: 1,
    traced,
    begin: () => ({ done: false }),
    async next({ input, own, call }) {
      if (own.done) return null;
      own.done = true;
      let reduced: Outcome = await initial;
      while (!(reduced instanceof Failure)) {
        const item = await input.next();
        if (item === null) return reduced;
        reduced = item instanceof Failure ? item : await call([...reduced, ...item]);
      }
      return reduced;
    },
  });
}
