/**
 * Programs of the program fuzzer: lines of TypeScript over numbered values, which run as they are printed.
 *
 * @module
 */

import * as tf from "@weft/weft";

/** Dtypes that inputs of programs have. */
export type InputDType = "float32" | "float16" | "int32" | "uint8" | "int64" | "bool" | "complex64";

/** An argument of a program. */
export interface Input {
  readonly dtype: InputDType;
  readonly shape: readonly number[];
  /** Its elements; of complex ones the real and the imaginary part by turns, of bool ones 0 and 1. */
  readonly data: readonly number[];
  /** True: a variable that has this value at first. */
  readonly variable?: true;
}

/** One line: an expression over earlier values. */
export interface Line {
  /** The expression, with `$0` for its first operand. */
  readonly code: string;
  /** Numbers of the values it reads. */
  readonly operands: readonly number[];
  /** Another expression of the same meaning, where the table has one. */
  readonly other?: string;
}

/** A program. Its values are numbered, inputs first. */
export interface Program {
  readonly inputs: readonly Input[];
  readonly lines: readonly Line[];
  /** Numbers of the values it returns. */
  readonly outputs: readonly number[];
}

/** A program's body as a function of its inputs. */
export type Body = (...inputs: tf.Tensor[]) => tf.Tensor[];

/** The name of a value in a program's text. */
function nameOf(program: Program, value: number): string {
  const n = program.inputs.length;
  return value < n ? `x${value}` : `v${value - n}`;
}

/** The statements of the body, its `return` last. */
function statements(program: Program): string[] {
  const lines = program.lines.map(({ code, operands }, i) => {
    const text = code.replace(/\$(\d+)/g, (_, k) => nameOf(program, operands[Number(k)]!));
    return `const v${i} = ${text};`;
  });
  const outputs = program.outputs.map((value) => nameOf(program, value));
  return [...lines, `return [${outputs.join(", ")}];`];
}

/** Makes a function of the body. Throws `SyntaxError` where a line is no expression. */
export function bodyOf(program: Program): Body {
  const names = program.inputs.map((_, i) => `x${i}`);
  const text = statements(program).join("\n");
  return new Function("tf", ...names, text).bind(null, tf) as Body;
}

/** The program with each line's other expression in its place, null where no line has one. */
export function inOtherWords(program: Program): Program | null {
  if (program.lines.every(({ other }) => other === undefined)) return null;
  const lines = program.lines.map(({ code, operands, other }) => ({
    code: other ?? code,
    operands,
  }));
  return { ...program, lines };
}

function literal(input: Input): string {
  const { dtype, shape, data } = input;
  if (input.variable) return `tf.variable(${literal({ dtype, shape, data })})`;
  const list = (elements: readonly unknown[], type: string): string =>
    `tf.tensor([${elements.join(", ")}], [${shape.join(", ")}], "${type}")`;
  if (dtype === "complex64") {
    const [re, im] = [0, 1].map((k) => list(data.filter((_, i) => i % 2 === k), "float32"));
    return `tf.complex(${re}, ${im})`;
  }
  if (dtype === "bool") return list(data.map(Boolean), dtype);
  return list(dtype === "int64" ? data.map((v) => `${v}n`) : data, dtype);
}

const GRADIENT = `const gradient = (...xs: any[]): any => {
  using tape = new tf.GradientTape();
  const sources = xs.filter((x) => x.dtype === "float32");
  tape.watch(sources);
  const real = (y) => y.dtype.startsWith("complex") ? tf.add(tf.real(y), tf.mul(tf.imag(y), -2)) : y;
  const losses = program(...xs).filter((y) => /^(float|complex)/.test(y.dtype)).map(real);
  return tape.gradient(losses.map((y) => tf.sum(tf.mul(tf.cast(y, "float32"), 0.5))), sources);
};`;

const COMPILED = `const compiled = (...xs: any[]) =>
  tf.function((...given: any[]) =>
    f(...xs.map((x, i) => x instanceof tf.Variable ? x : given[i])), { inputSignature: specs })(...xs);`;

const SESSION = `const graph = new tf.Graph();
const [placeholders, fetches] = graph.asDefault(() => {
  const xs = specs.map(({ dtype, shape }) => tf.placeholder(dtype, shape));
  return [xs, f(...xs)];
});
const feeds = new Map(inputs().map((x, i) => [placeholders[i], x] as any));
console.log(await new tf.Session({ graph }).run(fetches, { feeds } as any));`;

/** The program as a file that shows the difference: eager results, then those of `mode`. */
export function programText(program: Program, mode: string, device: string): string {
  const names = program.inputs.map((_, i) => `x${i}`);
  const shape = mode.includes("rank")
    ? "null"
    : mode.includes("dims")
    ? "x.shape.map(() => null)"
    : "x.shape";
  const other = mode.includes("other words") ? inOtherWords(program) : null;
  const body = (program: Program): string[] => [
    `(...[${names.join(", ")}]: any[]): any[] => {`,
    ...statements(program).map((line) => `  ${line}`),
    `};`,
  ];
  const set = (
    name: string,
    [first, ...rest]: string[],
  ): string[] => [`${name} = ${first}`, ...rest];
  return [
    `// ${mode}, on ${device}`,
    `// deno-lint-ignore-file no-explicit-any`,
    `import * as tf from "@weft/weft";`,
    `await tf.ready();`,
    `await tf.setBackend("${device}");`,
    `const inputs = (): any[] => [`,
    ...program.inputs.map((x) => `  ${literal(x)},`),
    `];`,
    ...set("let program", body(program)),
    ...(mode.startsWith("gradient") ? [GRADIENT] : []),
    `const f = (...xs: any[]): any => ${
      mode.startsWith("gradient") ? "gradient" : "program"
    }(...xs);`,
    `const show = (run: any) => {`,
    `  const xs = inputs(), results = run(...xs), variables = xs.filter((x) => x instanceof tf.Variable);`,
    `  for (const t of [...results, ...variables]) console.log(t && [t.dtype, t.shape, t.arraySync()]);`,
    `};`,
    `show(f);`,
    ...(other === null ? [] : [...set("program", body(other)), `show(f);`]),
    `const specs = inputs().map((x) => tf.TensorSpec(${shape}, x.dtype));`,
    ...(other !== null ? [] : mode.includes("session") ? [SESSION] : [COMPILED, `show(compiled);`]),
  ].join("\n");
}

/** True where a program changes variables: their last values are results, too. */
export function changesVariables({ lines }: Program): boolean {
  return lines.some(({ code }) => /\.(assign|scatter(?!ND)|generator)/.test(code));
}

/** Returns the part of the program that its outputs need, renumbered. Of unread inputs one may stay. */
export function pruned(program: Program): Program {
  const n = program.inputs.length, needed = new Set(program.outputs);
  for (let i = program.lines.length - 1; i >= 0; i--) {
    if (needed.has(n + i)) program.lines[i]!.operands.forEach((o) => needed.add(o));
  }
  if (!program.inputs.some((_, i) => needed.has(i))) needed.add(0);
  const numbers = new Map([...needed].sort((a, b) => a - b).map((old, now) => [old, now]));
  return {
    inputs: program.inputs.filter((_, i) => needed.has(i)),
    lines: program.lines.filter((_, i) => needed.has(n + i)).map((line) => ({
      ...line,
      operands: line.operands.map((o) => numbers.get(o)!),
    })),
    outputs: program.outputs.map((o) => numbers.get(o)!),
  };
}

/** The inputs as host arrays, their floats moved by `relative` of their size, by turns up and down. */
export function inputArrays(program: Program, relative = 0): tf.NdArray[] {
  return program.inputs.map(({ dtype, shape, data }) => {
    // Two up and one down: sums move, and so do differences.
    const moved = data.map((v, i) => v * (1 + (i % 3 === 2 ? -relative : relative)));
    switch (dtype) {
      case "int32":
        return new tf.NdArray(dtype, shape, Int32Array.from(data));
      case "uint8":
      case "bool":
        return new tf.NdArray(dtype, shape, Uint8Array.from(data));
      case "int64":
        return new tf.NdArray(dtype, shape, BigInt64Array.from(data, BigInt));
      case "float16":
        return new tf.NdArray(dtype, shape, Float16Array.from(moved));
      default:
        return new tf.NdArray(dtype, shape, Float32Array.from(moved));
    }
  });
}
