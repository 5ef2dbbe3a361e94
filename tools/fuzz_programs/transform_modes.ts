/**
 * Programs under transformations of functions: for rows at once, forward, twice, computed anew, within a script, and as a file of ONNX.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { encodeOnnx, loadOnnx } from "@weft/weft/onnx";
import { valuesOf } from "./compare.ts";
import { gradientOf, isSource, lossOf } from "./gradient_of.ts";
import { type Results, withInputs } from "./inputs.ts";
import type { Mode } from "./modes.ts";
import { type Body, bodyOf, inputArrays, type Program } from "./program.ts";

type Fn = (...inputs: tf.Tensor[]) => (tf.Tensor | null)[];

/** Lines whose values have other extents in other rows. */
const OF_OTHER_EXTENTS =
  /sparse|ragged|Ragged|unique|dynamicPartition|sets\.|strings\.|reshape\(tf\.where/;

/** The axis of the rows of each input; null where all rows share it: one of several. */
function axesOf({ inputs, lines }: Program): (number | null)[] {
  const shared = inputs.length > 1 ? lines.length % (inputs.length + 1) : -1;
  return inputs.map(({ shape }, i) => i === shared ? null : shape.length > 0 && i % 2 > 0 ? -1 : 0);
}

/** The program with the inputs of each of two rows; in the second, elements have moved round by one. */
function rowsOf(program: Program): Program[] {
  const axes = axesOf(program);
  const inputs = program.inputs.map((x, i) => {
    const by = axes[i] === null ? 0 : x.dtype === "complex64" ? 2 : 1;
    return { ...x, data: [...x.data.slice(by), ...x.data.slice(0, by)] };
  });
  return [program, { ...program, inputs }];
}

/** Each row by itself. Throws `NotImplementedError` where their results have no stack. */
async function inTurn(program: Program, make: (body: Body) => Fn, by = 0): Promise<Results> {
  const fn = make(bodyOf(program)), rows: Results[] = [];
  for (const row of rowsOf(program)) {
    rows.push(await withInputs(row, (xs) => valuesOf(fn(...xs)), by));
  }
  const [a, b] = rows;
  if (a!.some((v, i) => String(v?.shape) !== String(b![i]?.shape))) {
    throw new tf.NotImplementedError("The rows have other shapes");
  }
  return [...a!, ...b!];
}

/** All rows at once. */
function batched(program: Program, make: (body: Body) => Fn): Promise<Results> {
  return withInputs(program, async (inputs) => {
    const axes = axesOf(program), [, other] = rowsOf(program).map((row) => inputArrays(row));
    const args = inputs.map((x, i) =>
      axes[i] === null ? x : tf.stack([x, tf.tensor(other![i]!)], axes[i]!)
    );
    const fn = make(bodyOf(program));
    let isThere: boolean[] = [];
    const body = (...xs: tf.Tensor[]): tf.Tensor[] => {
      const all = fn(...xs);
      isThere = all.map((t) => t !== null);
      return all.filter((t) => t !== null);
    };
    const found = (await valuesOf(tf.vmap(body, { inAxes: axes as never })(...args))).values();
    const all = isThere.map((is) => is ? found.next().value! : null);
    return [0, 1].flatMap((k) =>
      all.map((v) => {
        if (v === null) return v;
        const [rows, ...shape] = v.shape, n = v.data.length / 2;
        if (rows !== 2) throw new Error(`a result of vmap() has shape [${v.shape}]`);
        return { dtype: v.dtype, shape, data: v.data.slice(k * n, (k + 1) * n) };
      })
    );
  });
}

/** Rows of a function of a program. */
function ofRows(name: string, like: Mode["like"], make: (body: Body) => Fn): Mode {
  return {
    name,
    like,
    want: (program, relative) => inTurn(program, make, relative),
    run: (program) => batched(program, make),
  };
}

function sumOf(list: readonly (tf.Tensor | null)[]): tf.Tensor {
  const [first, ...rest] = list.filter((t) => t !== null);
  return first === undefined
    ? tf.constant(0)
    : rest.reduce<tf.Tensor>((a, b) => tf.add(a, b), first);
}

/** Directions for sources. */
function tangentsOf(sources: readonly tf.Tensor[]): tf.Tensor[] {
  return sources.map((x, i) =>
    tf.cast(tf.reshape(tf.sin(tf.add(tf.range(0, x.size, 1, "float32"), i + 1)), x.shape), x.dtype)
  );
}

/** The derivative of a number along directions of the sources: by its gradient, or forward. */
function along(number: (body: Body) => Body, isForward: boolean): NonNullable<Mode["want"]> {
  return (program, relative) =>
    withInputs(program, (inputs) => {
      const sources = inputs.filter(isSource), tangents = tangentsOf(sources);
      if (sources.length === 0) return [];
      const body = number(bodyOf(program));
      const of = (...xs: tf.Tensor[]): tf.Tensor => {
        const next = xs.values();
        return sumOf(body(...inputs.map((x) => isSource(x) ? next.next().value! : x)));
      };
      if (isForward) return valuesOf([tf.jvp(of, sources, tangents)[1]]);
      using tape = new tf.GradientTape();
      tape.watch(sources);
      const slopes = tape.gradient([of(...sources)], sources) as (tf.Tensor | null)[];
      return valuesOf([sumOf(slopes.map((s, i) => s && tf.sum(tf.mul(s, tangents[i]!))))]);
    }, relative);
}

/** A smooth number of the gradient. */
const ofGradient = (body: Body): Body => (...xs) =>
  gradientOf(body)(...xs).filter((g) => g !== null).map((g) => tf.sum(tf.sin(g)));

/** Norms, which have no slope at 0. */
const WITH_NORM = /(euclideanNorm|\.norm)\(/;

function hasNaN(results: Results): boolean {
  return results.some((v) => v?.data.some(Number.isNaN));
}

function forward(name: string, number: (body: Body) => Body): Mode {
  const want = along(number, false), run = along(number, true);
  return {
    name,
    like: "gradient",
    want,
    // At a singular point, as the root of 0, no number is right: backward it is 0 · ∞, forward 0 by the root's own rule. Where a mask
    // drops the point backward, it is NaN forward.
    run: async (program, relative) => {
      const wanted = await want(program, relative);
      if (hasNaN(wanted)) return wanted;
      const found = await run(program, relative);
      return hasNaN(found) && program.lines.some(({ code }) => WITH_NORM.test(code))
        ? wanted
        : found;
    },
  };
}

/** The gradient through another function of the same results. */
function through(name: string, wrap: (body: Body) => Body): Mode {
  const run = (program: Program): Promise<Results> =>
    withInputs(program, (inputs) => valuesOf(gradientOf(wrap(bodyOf(program)))(...inputs)));
  return { name: `gradient, ${name}`, like: "gradient", run };
}

/** As a script; the dtypes of its results are those of a call. */
const inScript = (body: Body): Body => (...xs) => {
  const dtypes = tf.tidy(() => body(...xs).map((t) => t.dtype) as never) as unknown as tf.DType[];
  const script = (...given: unknown[]) => body(...given.slice(0, xs.length) as tf.Tensor[]);
  return tf.pyFunction(script as never, xs, dtypes) as unknown as tf.Tensor[];
};

function isLoop({ code }: Program["lines"][number]): boolean {
  return /tf\.(scan|mapFn|whileLoop)\(/.test(code);
}

/** Written as ONNX and read again. Throws `NotImplementedError` for what ONNX has not. */
function onnx(program: Program): Promise<Results> {
  return withInputs(program, async () => {
    const inputSignature = program.inputs.map(({ dtype, shape }, i) =>
      tf.TensorSpec(shape, dtype, `x${i}`)
    );
    const body = (...xs: tf.Tensor[]): tf.Tensor[] =>
      bodyOf(program)(...xs).map((t) => tf.identity(t));
    let bytes: Uint8Array;
    try {
      bytes = encodeOnnx(tf.function(body, { inputSignature }) as never) as Uint8Array;
    } catch (cause) {
      if (!(cause instanceof tf.errors.UnimplementedError)) throw cause;
      throw new tf.NotImplementedError("The program is in no file", { cause });
    }
    const model = await loadOnnx(bytes);
    try {
      const arrays = inputArrays(program);
      const feeds = model.inputs.map(({ name }) => [name, arrays[Number(name.slice(1))]]);
      const found = await model.run(Object.fromEntries(feeds)).catch((cause) => {
        // A Loop of no turns does not tell the extents of its rows, which scan() over one row joins to that.
        if (!/Cannot concatenate shapes .*\[0,/.test(cause.message)) throw cause;
        throw new tf.NotImplementedError("The rows of a loop of no turns are in no file", {
          cause,
        });
      });
      const results = await valuesOf(model.outputs.map(({ name }) => found[name] as tf.Tensor));
      if (results.some((v) => v?.shape.includes(0)) && program.lines.some(isLoop)) {
        throw new tf.NotImplementedError("The extents of a loop of no turns are in no file");
      }
      return results;
    } finally {
      model.dispose();
    }
  });
}

const ROWS: readonly Mode[] = [
  ofRows("vmap", "eager", (body) => body),
  ofRows("gradient, vmap of it", "gradient", gradientOf),
  through("vmap", (body) => (...xs) => {
    const rows = tf.vmap((...xs: tf.Tensor[]) => body(...xs))(...xs.map((x) => tf.expandDims(x)));
    return rows.map((y) => tf.gather(y, 0) as tf.Tensor);
  }),
];
const OTHERS: readonly Mode[] = [
  forward("gradient, forward", (body) => (...xs) => lossOf(body(...xs))),
  forward("gradient, forward over it", ofGradient),
  through("computed anew", (body) => tf.recomputeGrad((...xs: tf.Tensor[]) => body(...xs))),
  through("script", inScript),
  { name: "file of ONNX", like: "eager", run: onnx },
];

/** Transformations of a program without variables: two of them, which depend on it, as they take long. */
export function transformModes(program: Program): Mode[] {
  const { lines, inputs } = program, n = lines.length + inputs.length;
  if (inputs.some((x) => x.variable)) return [];
  const hasRows = !lines.some(({ code }) => OF_OTHER_EXTENTS.test(code));
  return [...(hasRows ? [ROWS[n % ROWS.length]!] : []), OTHERS[n % OTHERS.length]!];
}
