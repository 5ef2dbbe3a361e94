/** checkNumerics and its siblings: errors where numbers are NaN or infinite. TensorFlow op `CheckNumerics`. */
import { apply1, type OpInput, withRecorders } from "../../engine/core/apply.ts";
import { codeOf, DTYPES } from "../../engine/core/dtype.ts";
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { type Attrs, defineOp, type OpDef } from "../../engine/core/op.ts";
import { specText } from "../../engine/core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { stackOf, userFrames } from "../../engine/core/throwing/user_stack.ts";
import { pipelineOptions } from "../../engine/graph/passes/pipeline.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { isFinite as isFiniteOp } from "../../engine/ops/pointwise/compare.ts";
import { all } from "../../engine/ops/reduce/reduce.ts";
import { type OutputWatch, setOutputWatch, unwatched } from "../../engine/runtime/eager/eager.ts";
import { EagerTensor, outsideScopes, tidy } from "../../engine/runtime/eager/tensor.ts";

/** The faults of some numbers. */
interface Found {
  readonly nan: boolean;
  readonly inf: boolean;
}
const FINE: Found = { nan: false, inf: false };

const CheckNumerics: OpDef = defineOp({
  name: "CheckNumerics",
  inputs: ["tensor: T"],
  outputs: ["output: T"],
  attrs: ["T: {bfloat16, float16, float32, float64}", "message: string"],
  infer: ([x]) => [x.shape],
  grad: {
    saves: [],
    vjp: (_, [dy], { attrs }) => [
      checkNumerics(
        dy,
        `Not a number (NaN) or infinity (Inf) values detected in gradient. ${attrs.message}`,
      ),
    ],
  },
  // As TensorFlow's it is stateful: functions check what nothing reads, too.
  effects: "unordered",
  host: {
    local: true,
    run: ({ inputs: [x], attrs }) => {
      const out = checked(x, attrs as { message: string });
      return out instanceof Promise ? out.then((y) => [y]) : [out];
    },
    eager: ([x], attrs) => checkNow(x, attrs),
  },
});

function checked(
  x: OpInput,
  { message }: { readonly message: string },
): OpInput | Promise<OpInput> {
  const refuse = (found: Found): OpInput => {
    if (found.nan || found.inf) {
      throw new InvalidArgumentError(`${message} : Tensor had ${foundText(found)} values`, {
        op: "CheckNumerics",
      });
    }
    return x instanceof EagerTensor ? handleOn(x) : x;
  };
  const found = lookAt(x);
  return found instanceof Promise ? found.then(refuse) : refuse(found);
}

function foundText({ nan, inf }: Found): string {
  return nan && inf ? "Inf and NaN" : nan ? "NaN" : "Inf";
}

/** Makes a second handle of the same memory. */
function handleOn(x: EagerTensor): EagerTensor {
  return outsideScopes(() => new EagerTensor(x.dtype, x.staticShape, x.storage.retain()));
}

function checkNow(x: OpInput, attrs: Attrs): Tensor[] {
  const out = checked(x, attrs as { message: string });
  if (!(out instanceof Promise)) return [asTensor(out)];
  // Eager code continues: a later error can only be written to the console.
  out.then((y) => (y as EagerTensor).dispose(), (error) => console.error(error));
  return [handleOn(x as EagerTensor)];
}

/** Checks a value on its device: on a GPU one boolean is read, and the elements only where it is false. */
function lookAt(x: OpInput): Found | Promise<Found> {
  if (x instanceof NdArray) return findIn(x);
  const t = x as EagerTensor;
  if (t.storage.device.type !== "GPU") return findIn(t.ndarraySync());
  const isFine = unwatched(() =>
    withRecorders([], () => outsideScopes(() => tidy(() => all(isFiniteOp(t)))))
  );
  const { canReadSync } = t.storage.device as unknown as { readonly canReadSync: boolean };
  if (canReadSync) {
    const fine = isFine.item();
    isFine.dispose();
    return fine ? FINE : findIn(t.ndarraySync());
  }
  const held = handleOn(t);
  return isFine.data().then(async ([fine]) => {
    isFine.dispose();
    try {
      return fine ? FINE : findIn(await held.ndarray());
    } finally {
      held.dispose();
    }
  });
}

function findIn(a: NdArray): Found {
  let nan = false, inf = false;
  const { kind } = DTYPES[a.dtype];
  if (kind !== "float" && kind !== "complex") return FINE;
  const code = codeOf(a.dtype);
  for (let i = 0; i < a.data.length; i++) {
    const v = code === null ? a.data[i] as number : code.decode(a.data[i] as number);
    if (v - v === 0) continue;
    if (Number.isNaN(v)) nan = true;
    else inf = true;
  }
  return { nan, inf };
}

/**
 * Returns `x` where all of its numbers are finite: now, or at each run of a graph. Gradients pass through, and are
 * checked likewise. Floating dtypes. On a GPU `x` stays there, and one boolean is read. Follows TensorFlow
 * `tf.debugging.check_numerics`. Throws `InvalidArgumentError` that begins with `message` where there is NaN or an
 * infinity, `TypeError` for other dtypes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const f = tf.function((x: tf.Tensor) => tf.debugging.checkNumerics(tf.log(x), "log of the odds"));
 * try {
 *   f(tf.scalar(-1));
 * } catch (error) {
 *   console.log((error as Error).message); // …log of the odds : Tensor had NaN values…
 * }
 * ```
 */
export function checkNumerics(x: TensorLike, message: string): Tensor {
  if (typeof message !== "string") {
    throw new TypeError(
      "Missing required argument: 'message' of checkNumerics, the text that its error begins with",
    );
  }
  const input = toInput(x, "x", "checkNumerics");
  if (DTYPES[input.dtype].kind !== "float") {
    throw new TypeError(
      `Cannot check numbers of dtype ${input.dtype}: checkNumerics takes floating dtypes`,
    );
  }
  return apply1(CheckNumerics, [input instanceof NdArray ? asTensor(input) : input], { message });
}

/**
 * TensorFlow's older name of {@linkcode checkNumerics}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.debugging.assertAllFinite([1, 2], "the loss").arraySync()); // [1, 2]
 * ```
 */
export function assertAllFinite(x: TensorLike, message: string): Tensor {
  return checkNumerics(x, message);
}

/**
 * Checks the outputs of all ops from now on: eagerly, in functions and sessions, traced ones included, and in
 * gradients. The first op that makes a NaN, or an infinity of finite numbers, ends its run with an error that names the
 * op and your line. Infinite inputs, such as those of masks, may pass. Everything is slower meanwhile: nothing is fused
 * or folded, and each output is read. Follows TensorFlow `tf.debugging.enable_check_numerics`. Where the runtime reads
 * GPU memory only asynchronously, eager code goes on, and the error is written to the console.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const f = tf.function((x: tf.Tensor) => tf.mul(tf.sqrt(x), 2));
 * tf.debugging.enableCheckNumerics();
 * try {
 *   f(tf.scalar(-1));
 * } catch (error) {
 *   console.log((error as Error).message); // …Detected NaN in output 0 of graph op "Sqrt"…
 * }
 * tf.debugging.disableCheckNumerics();
 * ```
 */
export function enableCheckNumerics(): void {
  if (before !== null) return;
  before = pipelineOptions.passes;
  pipelineOptions.passes = { CPU: [], GPU: [] };
  setOutputWatch(watchOutputs);
}

/**
 * Ends the checks of {@linkcode enableCheckNumerics}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.debugging.enableCheckNumerics();
 * tf.debugging.disableCheckNumerics();
 * console.log(tf.log(-1).item()); // NaN
 * ```
 */
export function disableCheckNumerics(): void {
  if (before === null) return;
  pipelineOptions.passes = before;
  before = null;
  setOutputWatch(null);
}

let before: typeof pipelineOptions.passes | null = null;

function watchOutputs(
  { def, inputs, outputs }: Parameters<OutputWatch>[0],
  waits: boolean,
): void | Promise<void> {
  const site = waits ? "" : userFrames(stackOf(new Error()));
  const waiting: Promise<void>[] = [];
  outputs.forEach((y, i) => {
    if (y === null || y === undefined) return;
    const { kind } = DTYPES[y.dtype];
    if (kind !== "float" && kind !== "complex") return;
    const judge = (found: Found, inputs: readonly OpInput[]): void | Promise<void> => {
      if (!found.nan && !found.inf) return;
      const refuse = (given: readonly Found[]): void => {
        if (!found.nan && given.some((g) => g.inf)) return;
        throw new InvalidArgumentError(
          describeFound({ def, inputs, given, found, y, i, waits, site }),
          { op: def.name },
        );
      };
      const given = inputs.map((x) => (isNumbers(x) ? lookAt(x) : FINE));
      return given.some((g) => g instanceof Promise)
        ? Promise.all(given).then(refuse)
        : refuse(given as Found[]);
    };
    const found = lookAt(y);
    const done = found instanceof Promise
      ? withHandles(inputs, (held) => found.then((f) => judge(f, held)))
      : judge(found, inputs);
    if (done instanceof Promise) waiting.push(done);
  });
  if (waiting.length === 0) return;
  const all = Promise.all(waiting).then(() => {});
  if (waits) return all;
  all.catch((error) => console.error(error));
}

/** Runs `use` on handles of its own: eager code continues, and may dispose its tensors. */
async function withHandles(
  inputs: readonly OpInput[],
  use: (held: readonly OpInput[]) => Promise<void>,
): Promise<void> {
  const held = inputs.map((x) => (isNumbers(x) && x instanceof EagerTensor ? handleOn(x) : x));
  try {
    await use(held);
  } finally {
    held.forEach((x, i) => x !== inputs[i] && (x as EagerTensor).dispose());
  }
}

function isNumbers(x: OpInput | undefined): x is OpInput {
  if (x === undefined || x === null) return false;
  const { kind } = DTYPES[x.dtype];
  return (kind === "float" || kind === "complex") &&
    (x instanceof NdArray || x instanceof EagerTensor);
}

interface Report {
  readonly def: OpDef;
  readonly inputs: readonly OpInput[];
  readonly given: readonly Found[];
  readonly found: Found;
  readonly y: OpInput;
  readonly i: number;
  readonly waits: boolean;
  readonly site: string;
}

function describeFound({ def, inputs, given, found, y, i, waits, site }: Report): string {
  const what = found.nan ? (found.inf ? "Inf and NaN" : "NaN") : "Inf";
  const lines = inputs.map((x, k) => {
    const bad = given[k].nan || given[k].inf ? `, which has ${foundText(given[k])} values` : "";
    return `  input ${k}: ${specOf(x)}${bad}`;
  });
  const kind = waits ? "graph" : "eagerly-executed";
  return [
    `Detected ${what} in output ${i} of ${kind} op "${def.name}", ${specOf(y)}`,
    ...lines,
    ...site === "" ? [] : [site],
  ].join("\n");
}

function specOf(x: OpInput | undefined): string {
  if (x === undefined || x === null) return "?";
  return specText({ dtype: x.dtype, shape: x instanceof NdArray ? x.shape : x.staticShape });
}
