/**
 * Shrinks a program to the smallest that still fails in the same mode.
 *
 * @module
 */

import { type Fault, faultIn } from "./check.ts";
import { type Mode, modesFor, REFERENCES } from "./modes.ts";
import { type Input, type InputDType, type Program, pruned } from "./program.ts";

const INPUT_DTYPES: readonly string[] = [
  "float32",
  "float16",
  "int32",
  "uint8",
  "int64",
  "bool",
  "complex64",
];

/** The program with values in place of one line: of an input with its value, or of an earlier value. */
function without(program: Program, line: number, instead: Input | number): Program {
  const n = program.inputs.length, gone = n + line;
  const isInput = typeof instead !== "number";
  const inputs = isInput ? [...program.inputs, instead] : program.inputs;
  const at = (value: number): number => {
    if (value === gone) return isInput ? n : instead as number;
    const moved = value > gone ? value - 1 : value;
    return isInput && value >= n ? moved + 1 : moved;
  };
  return pruned({
    inputs,
    lines: program.lines.toSpliced(line, 1).map((kept) => ({
      ...kept,
      operands: kept.operands.map(at),
    })),
    outputs: program.outputs.map(at),
  });
}

/** Smaller programs, the boldest first. */
async function* smaller(program: Program): AsyncGenerator<Program> {
  const { inputs, lines, outputs } = program, n = inputs.length;
  if (outputs.length > 1) {
    for (const one of outputs) yield pruned({ inputs, lines, outputs: [one] });
  }
  // An earlier value as the result.
  for (let i = 0; i < lines.length - 1; i++) yield pruned({ inputs, lines, outputs: [n + i] });
  const all = lines.map((_, i) => n + i);
  const values = await REFERENCES.eager({ inputs, lines, outputs: all }).catch(() => null);
  if (values) {
    for (let i = lines.length - 1; i >= 0; i--) {
      const value = values[i];
      if (!value || !INPUT_DTYPES.includes(value.dtype)) continue;
      const { dtype, shape, data } = value;
      yield without(program, i, { dtype: dtype as InputDType, shape, data });
      for (const operand of lines[i]!.operands) {
        const other = operand < n ? inputs[operand] : values[operand - n];
        if (other?.dtype === dtype && String(other.shape) === String(shape)) {
          yield without(program, i, operand);
        }
      }
    }
  }
  for (const [k, x] of inputs.entries()) {
    const simple = (data: number[]): Program => ({
      inputs: inputs.with(k, { ...x, data }),
      lines,
      outputs,
    });
    const rounded = x.data.map(Math.round);
    if (x.data.some((v) => v !== 1)) yield simple(x.data.map(() => 1));
    if (x.data.some((v, i) => v !== rounded[i])) yield simple(rounded);
  }
  yield* smallerDims(program);
}

/** One size of dimensions made smaller wherever inputs have it. */
function* smallerDims({ inputs, lines, outputs }: Program): Generator<Program> {
  const sizes = new Set(inputs.flatMap((x) => x.shape).filter((d) => d > 1));
  for (const size of sizes) {
    for (const to of new Set([1, 2, size - 1])) {
      if (to >= size) continue;
      const cut = inputs.map((x): Input => {
        const shape = x.shape.map((d) => (d === size ? to : d));
        const count = shape.reduce((a, b) => a * b, x.dtype === "complex64" ? 2 : 1);
        return { ...x, shape, data: x.data.slice(0, count) };
      });
      yield { inputs: cut, lines, outputs };
    }
  }
}

/** Returns the size of a program: lines first, then inputs, then elements by number and simplicity. */
function sizeOf({ inputs, lines, outputs }: Program): number {
  const text = lines.reduce((n, line) => n + line.code.length, 0);
  const elements = inputs.reduce((n, x) => n + x.data.length, 0);
  const odd = inputs.reduce((n, x) => n + x.data.filter((v) => v !== 1).length, 0);
  const digits = inputs.reduce((n, x) => n + x.data.filter((v) => !Number.isInteger(v)).length, 0);
  return 1e6 * lines.length + 1e4 * (inputs.length + outputs.length) + 100 * text + 4 * elements +
    odd + digits;
}

/** A message without its numbers, so that another fault is not taken for the same. */
export function kindOf({ message }: Fault): string {
  return message.startsWith("throws")
    ? message.slice(0, 300).replace(/\d+|\[[^\]]*\]|'[^']*'/g, "")
    : "differs";
}

/** The smallest program found that fails as `program` does in `mode`. */
export async function shrink(
  program: Program,
  fault: Fault,
  { device, tries = 400 }: { readonly device: string; readonly tries?: number },
): Promise<{ program: Program; fault: Fault }> {
  const mode: Mode | undefined = modesFor(program, device).find((m) => m.name === fault.mode);
  let best = { program, fault }, left = tries;
  if (mode === undefined) return best;
  for (let found = true; found && left > 0;) {
    found = false;
    for await (const candidate of smaller(best.program)) {
      if (left-- <= 0) break;
      if (sizeOf(candidate) >= sizeOf(best.program)) continue;
      const again = await faultIn(candidate, mode).catch(() => null);
      if (again === null || kindOf(again) !== kindOf(fault)) continue;
      best = { program: candidate, fault: again };
      found = true;
      break;
    }
  }
  return best;
}
