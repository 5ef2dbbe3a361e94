/**
 * Makes random programs: each line is drawn from the tables and run eagerly at once, so that what it gives is known and what cannot be
 * run is left out.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { ARRAYS, SEEDS, SEGMENTS, SETS } from "./ops_arrays.ts";
import { BATCHED } from "./ops_batched.ts";
import { COMPLEX } from "./ops_complex.ts";
import { COMPOSITES, CONTROL, SCRIPTS } from "./ops_control.ts";
import { JOINED } from "./ops_joined.ts";
import { MATRICES, SYSTEMS } from "./ops_linalg.ts";
import { MATH, STRINGS } from "./ops_named.ts";
import { NAMESPACES } from "./ops_nn.ts";
import { ACTIVATIONS, LOOPS, NUMPY } from "./ops_numpy.ts";
import {
  ATTENTIONS,
  IMAGES,
  LOSSES,
  MOVES,
  POINTWISE,
  PRODUCTS,
  REDUCTIONS,
} from "./ops_pointwise.ts";
import { SPARSE } from "./ops_sparse.ts";
import { GENERATORS, MODULES, SCANS } from "./ops_states.ts";
import { READS, WRITES } from "./ops_variables.ts";
import {
  bodyOf,
  type Input,
  inputArrays,
  type InputDType,
  type Line,
  type Program,
  pruned,
} from "./program.ts";
import { Random } from "./random.ts";
import {
  CLASSES,
  fillPlaces,
  NEW_DTYPE,
  NEW_SHAPE,
  type Operand,
  operandsOf,
  SAME,
  type Template,
  type ValueType,
  VARIABLE_CLASSES,
} from "./templates.ts";

/** The families of lines, and how often they are drawn. */
const FAMILIES: readonly (readonly [readonly Template[], number])[] = [
  [POINTWISE, 8],
  [REDUCTIONS, 4],
  [MOVES, 4],
  [PRODUCTS, 2],
  [ATTENTIONS, 1],
  [IMAGES, 1],
  [LOSSES, 1],
  [JOINED, 2],
  [CONTROL, 2],
  [SCRIPTS, 1],
  [READS, 1],
  [WRITES, 2],
  [COMPOSITES, 1],
  [MATRICES, 2],
  [SYSTEMS, 1],
  [MATH, 1],
  [STRINGS, 1],
  [SPARSE, 2],
  [BATCHED, 1],
  [ARRAYS, 2],
  [[...SETS, ...SEEDS, ...SEGMENTS], 1],
  [NAMESPACES, 2],
  [COMPLEX, 2],
  [SCANS, 1],
  [GENERATORS, 1],
  [MODULES, 1],
  [NUMPY, 2],
  [[...LOOPS, ...ACTIVATIONS], 1],
];

/** All templates. */
export const TEMPLATES: readonly Template[] = FAMILIES.flatMap(([templates]) => templates);

/** Every template, once for each time it weighs. */
const DECKS: readonly (readonly Template[])[] = FAMILIES.flatMap(([templates, weight]) => {
  const deck = templates.flatMap((t) => Array<Template>(t[2] ?? 1).fill(t));
  return Array<readonly Template[]>(weight).fill(deck);
});

/**
 * Counts of each template's uses and refusals, by its text: a template that is never used is a mistake in the table.
 */
export const taken: Map<string, { taken: number; refused: number; error: string }> = new Map();

/** Draws of operands and places for a line that a program must have. */
const TRIES = 20;

const MOST_ELEMENTS = 2048;
/** Larger numbers make later differences a matter of rounding. */
const LARGEST = 1000;

interface Value extends ValueType {
  readonly tensor: tf.Tensor;
}

class Generator {
  readonly random: Random;
  readonly inputs: Input[] = [];
  readonly lines: Line[] = [];
  /** Inputs are numbered from 0, lines from -1 downwards, until all inputs are known. */
  readonly values = new Map<number, Value>();
  readonly variables: tf.Variable[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  program(first: Template | null): Program | null {
    const { random } = this, rank = first !== null ? 1 + random.below(3) : random.below(4);
    const shape = Array.from({ length: rank }, () => random.pick([1, 2, 2, 3, 3, 4, 5, 8]));
    if (random.chance(0.05) && rank > 0) shape[random.below(rank)] = 0;
    this.#input("float32", shape);
    this.#input(random.pick(["float32", "int32", "bool", "float16"]), this.#broadcast(shape));
    if (first !== null) {
      for (let i = 0; i < TRIES && this.lines.length === 0; i++) this.#draw(first);
      if (this.lines.length === 0) return null;
    }
    const count = first !== null ? 3 : 4 + random.below(14);
    for (let i = 0; i < 3 * count && this.lines.length < count; i++) this.#draw();
    if (this.lines.length === 0) return null;
    const n = this.inputs.length, at = (id: number): number => (id >= 0 ? id : n - 1 - id);
    const lines = this.lines.map((line) => ({ ...line, operands: line.operands.map(at) }));
    const outputs = new Set([n + lines.length - 1]);
    if (first !== null) outputs.add(n);
    for (let k = 0; k < 2; k++) outputs.add(n + random.below(lines.length));
    return pruned({ inputs: this.inputs, lines, outputs: [...outputs] });
  }

  /** A shape that broadcasts to another. */
  #broadcast(shape: readonly number[]): number[] {
    const { random } = this;
    const dims = shape.map((d) => (random.chance(0.3) ? 1 : d));
    return random.chance(0.4) ? dims.slice(random.below(dims.length + 1)) : dims;
  }

  #input(dtype: InputDType, shape: readonly number[], variable = false): number {
    const { random } = this, size = shape.reduce((a, b) => a * b, 1);
    const element = (): number =>
      dtype === "bool"
        ? random.below(2)
        : dtype === "uint8"
        ? random.below(6)
        : dtype.startsWith("int")
        ? random.below(9) - 4
        : Math.round((random.number() * 4 - 2) * 256) / 256;
    const length = dtype === "complex64" ? 2 * size : size;
    const drawn = { dtype, shape, data: Array.from({ length }, element) };
    const input: Input = variable ? { ...drawn, variable } : drawn;
    const number = this.inputs.push(input) - 1;
    const [array] = inputArrays({ inputs: [input], lines: [], outputs: [] });
    const tensor = tf.tensor(array!);
    this.values.set(number, {
      dtype,
      shape,
      tensor: variable ? this.#variable(tensor) : tensor,
      variable,
    });
    return number;
  }

  #variable(initial: tf.Tensor): tf.Tensor {
    const variable = tf.variable(initial);
    this.variables.push(variable);
    return variable as unknown as tf.Tensor;
  }

  /** A value for an operand: an earlier one, most often one of the latest, or a new input. */
  #operand({ kind, like }: Operand, named: ReadonlyMap<string, number>): number | null {
    const { random } = this, model = like && this.values.get(named.get(like.name)!)!;
    const fits = (v: Value): boolean => {
      if (kind !== null && !CLASSES[kind]!(v)) return false;
      if (model === null) return true;
      if (kind === null && v.dtype !== model.dtype) return false;
      return like!.exactly
        ? String(v.shape) === String(model.shape)
        : broadcasts(v.shape, model.shape);
    };
    const known = [...this.values].filter(([, v]) => fits(v)).map(([id]) => id);
    if (known.length > 0 && !random.chance(0.1)) {
      return known[Math.max(0, known.length - 1 - random.below(6))]!;
    }
    const shape = model === null
      ? NEW_SHAPE[kind!] ?? [2, 3].slice(0, random.below(3))
      : like!.exactly
      ? model.shape
      : this.#broadcast(model.shape);
    const dtype = kind === null ? model!.dtype : NEW_DTYPE[kind] ??
      random.pick([
        "float32",
        "float32",
        "float16",
        ...(kind === "any" || kind === "number" ? ["int32", "uint8", "int64"] : []),
      ]);
    if (!["float32", "float16", "int32", "uint8", "int64", "bool", "complex64"].includes(dtype)) {
      return known[0] ?? null;
    }
    const variable = VARIABLE_CLASSES.has(kind);
    if (kind !== null && !CLASSES[kind]!({ dtype, shape, variable })) return known[0] ?? null;
    if (this.inputs.length >= 6) return known[0] ?? null;
    return this.#input(dtype as InputDType, shape, variable);
  }

  /** Adds a line, where the one that is drawn can be run. */
  #draw(template: Template = this.random.pick(this.random.pick(DECKS))): void {
    const named = new Map<string, number>(), types = new Map<string, ValueType>();
    for (const operand of operandsOf(template)) {
      const id = this.#operand(operand, named);
      if (id === null) return;
      named.set(operand.name, id);
      types.set(operand.name, this.values.get(id)!);
    }
    const code = fillPlaces(template[1], types, this.random);
    if (code === null) return;
    const names = [...named.keys()];
    const text = code.replace(/\$([a-z]\w*)/g, (_, name) => `$${names.indexOf(name)}`);
    const [first, other] = text.split(SAME), line = { code: first!, operands: [...named.values()] };
    const error = this.#add(other === undefined ? line : { ...line, other });
    const count = taken.get(template[1]) ?? { taken: 0, refused: 0, error: "" };
    if (error === null) count.taken++;
    else {
      count.refused++;
      count.error = error;
    }
    taken.set(template[1], count);
  }

  /** Adds a line that gives a tensor of moderate size and numbers. Returns the reason where it does not. */
  #add(line: Line): string | null {
    const operands = line.operands.map((id) => this.values.get(id)!.tensor);
    const inputs = operands.map((): Input => ({ dtype: "float32", shape: [], data: [] }));
    const own = { code: line.code, operands: operands.map((_, i) => i) };
    const before = this.variables.map((v) => v.ndarraySync());
    try {
      const [tensor] = bodyOf({ inputs, lines: [own], outputs: [inputs.length] })(...operands);
      if (!(tensor instanceof tf.Tensor)) throw new Error("no tensor");
      const { shape, dtype } = tensor;
      if (shape.reduce((a, b) => a * b, 1) > MOST_ELEMENTS) throw new Error("too large");
      for (const list of [tensor.ndarraySync(), ...this.variables.map((v) => v.ndarraySync())]) {
        for (const v of list.data) {
          if (!(Math.abs(Number(v)) <= LARGEST)) throw new Error("not finite");
        }
      }
      this.lines.push(line);
      this.values.set(-this.lines.length, { dtype, shape, tensor });
      return null;
    } catch (error) {
      this.variables.forEach((v, i) => v.assign(before[i]!));
      return String(error);
    }
  }
}

function broadcasts(from: readonly number[], to: readonly number[]): boolean {
  return from.length <= to.length &&
    from.every((d, i) => d === 1 || d === to[to.length - from.length + i]);
}

/** The program of a seed, a short one where `first` is its first line; null where nothing came of it. */
export function generate(seed: number, first: Template | null = null): Program | null {
  return tf.tidy(() => {
    const generator = new Generator(seed), program = generator.program(first);
    generator.variables.forEach((v) => v.dispose());
    return program as never;
  });
}
