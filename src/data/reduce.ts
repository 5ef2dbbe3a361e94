/**
 * Functions that carry a state from element to element: scan, a stage, and reduce, the end of a pipeline.
 */
import { structureText } from "../core/nest.ts";
import { commonType, type Element, type ElementType } from "./element.ts";
import {
  type Elements,
  Failure,
  type Item,
  makeSource,
  type Place,
  type Source,
  type State,
} from "./source.ts";
import { keepValues } from "./sources.ts";
import {
  type ElementFunction,
  functionError,
  Numbering,
  type Traced,
  traceFunction,
} from "./trace.ts";

/** A traced function of a state and an element, with the type of the state. */
interface Carrying {
  readonly traced: Traced;
  readonly state: ElementType;
  /** The state to begin with. */
  readonly initial: Promise<Element>;
  /** How many of the function's results are the new state. */
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
    const fits = structureText(given.structure) === structureText(state.structure) &&
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

/** A function of two arguments, whatever it says of its parameters. */
function exact(fn: ElementFunction): ElementFunction {
  return typeof fn === "function" ? (state, element) => fn(state, element) : fn;
}

type ScanState = { readonly carried: Element; readonly number: number; readonly input: State };

/** Elements of a function that carries a state along. */
export function scanSource(input: Source, initialState: unknown, fn: ElementFunction): Source {
  const { traced, initial, carried } = traceCarrying(input, initialState, fn, "scan");
  const [, output] = traced.structure as readonly unknown[];
  const source: Source = makeSource({
    kind: "Scan",
    specs: traced.specs.slice(carried),
    structure: output,
    size: input.size,
    inputs: [input],
    open(place: Place, saved?: ScanState): Elements {
      const numbers = new Numbering(place, saved?.number);
      const elements = input.open(place, saved?.input);
      let state: Element | null = saved?.carried ?? null;
      return {
        async next(): Promise<Item> {
          const item = await elements.next();
          if (item === null || item instanceof Failure) return item;
          try {
            state ??= await initial;
            const results = await traced.run([...state, ...item], place, numbers.next());
            state = results.slice(0, carried);
            return results.slice(carried);
          } catch (error) {
            return new Failure(functionError(error, source.name, place));
          }
        },
        save: async (): Promise<ScanState> => ({
          carried: state ??= await initial,
          number: numbers.given,
          input: await elements.save(),
        }),
        close: () => elements.close(),
      };
    },
  });
  return source;
}

/** The state after all elements, as a dataset of this one element. */
export function reducedSource(input: Source, initialState: unknown, fn: ElementFunction): Source {
  const { traced, state, initial } = traceCarrying(input, initialState, fn, "reduce");
  const source: Source = makeSource({
    kind: "Reduce",
    ...state,
    size: 1,
    inputs: [input],
    open(place: Place): Elements {
      const numbers = new Numbering(place);
      const elements = input.open(place);
      let done = false;
      return {
        async next(): Promise<Item> {
          if (done) return null;
          done = true;
          let reduced = await initial;
          for (;;) {
            const item = await elements.next();
            if (item === null) return reduced;
            if (item instanceof Failure) return item;
            try {
              reduced = await traced.run([...reduced, ...item], place, numbers.next());
            } catch (error) {
              return new Failure(functionError(error, source.name, place));
            }
          }
        },
        save: () => done,
        close: () => elements.close(),
      };
    },
  });
  return source;
}
