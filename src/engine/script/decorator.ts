/** The decorator form of script functions: `numpyFunction({ Tout })(func)`. */
import type { ScriptInput } from "./body_types.ts";
import type { ScriptResult } from "./numpy_function.ts";
import type { ScriptContext, ScriptFunction } from "./script.ts";
import { isPlainObject } from "../core/nest.ts";
import type { Tout } from "./tout.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";

/** Options of the decorator form. */
export interface DecoratorOptions<T> {
  /** Dtypes or specs of the body's results. */
  readonly Tout: T;
}

/**
 * Wraps a body; each argument is of one type, or the context. The wrapper takes tensors and returns the op's outputs.
 */
export type Decorated<T extends Tout, Argument> = (
  func: (...args: (Argument & ScriptContext)[]) => unknown,
) => (...args: ScriptInput[]) => ScriptResult<T>;

/** A call of a script function. */
export interface ScriptCall<O> {
  readonly func: unknown;
  readonly inp: unknown;
  readonly tout: unknown;
  readonly options: O;
}

/** True for the arguments of a call, not those of the decorator form. */
export function isCall<O>({ func, inp }: ScriptCall<O>): boolean {
  return func !== undefined && func !== null && inp !== undefined && inp !== null &&
    !isPlainObject(func);
}

/**
 * Returns the decorator for arguments of the decorator form. Throws `TypeError` with TensorFlow's phrases for those that are not, nor
 * those of a call.
 */
export function decorator<O>(
  name: string,
  { func, inp, tout }: ScriptCall<O>,
  call: (decorated: ScriptCall<O>) => unknown,
): unknown {
  const isOptions = isPlainObject(func);
  const given = (isOptions ? func : { func }) as Record<string, unknown>;
  const inputs = isOptions ? given.inp ?? inp : inp;
  const declared = isOptions ? given.Tout ?? tout : tout;
  const hasFunc = given.func !== undefined && given.func !== null;
  const hasInputs = inputs !== undefined && inputs !== null;
  if (declared === undefined) {
    throw new TypeError(`Missing required argument: 'Tout' of tf.${name}`);
  }
  if (!hasFunc && hasInputs) {
    throw new TypeError(
      `Don't set the \`inp\` argument when using tf.${name} as a decorator (\`func\` not given).`,
    );
  }
  if (hasFunc && isOptions && hasInputs) {
    throw new TypeError(
      `Cannot read the arguments of tf.${name}: received one object with "func", wanted tf.${name}(func, inp, Tout, options)`,
    );
  }
  if (hasFunc) {
    throw new TypeError(`Missing argument \`inp\`: tf.${name} was given a function but no inputs`);
  }
  const { Tout: _tout, func: _func, inp: _inp, ...options } = given;
  return (body: ScriptFunction) => (...args: unknown[]) =>
    call({ func: body, inp: args, tout: declared, options: options as unknown as O });
}
