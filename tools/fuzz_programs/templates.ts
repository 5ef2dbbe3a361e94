/**
 * The language of the tables of lines: what a line reads, and its text with places to fill.
 *
 * A template begins with its operands: `x:float` is any value of such a dtype, `y~x` one of x's dtype that broadcasts to x's shape, `y=x`
 * one of x's dtype and shape, and `m:bool~x` a bool that broadcasts to x's shape. The text has `$x` for an operand and `#word(…)` for what is
 * drawn: `#pick(a|b)` one of these texts, `#int(0,3)` a number, `#bool`, `#expr(a, b)` an expression over two values of one shape, and what
 * an operand's shape allows: `#axis(x)`, `#axes(x)`, `#perm(x)`, `#begin(x)`, `#index(x)`, `#paddings(x)`, `#tiles(x)`, `#split(x)`, `#rows(x)`.
 * `A ≡ B` are two texts of one meaning, in which equal places are filled alike: the program is also run with the second.
 *
 * @module
 */

import type { Random } from "./random.ts";

/** Stands between two texts of one meaning. */
export const SAME = " ≡ ";

/** Operands, text and how many times as often as others it is drawn. */
export type Template = readonly [operands: string, code: string, weight?: number];

/** The generator's knowledge of a value. */
export interface ValueType {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** True for a variable. */
  readonly variable?: boolean;
}

const isFloat = (dtype: string): boolean => dtype === "float32" || dtype === "float16";

/** Which values an operand's class names. */
export const CLASSES: Readonly<Record<string, (v: ValueType) => boolean>> = {
  any: ({ dtype }) => dtype !== "string",
  float: ({ dtype }) => isFloat(dtype),
  float32: ({ dtype }) => dtype === "float32",
  int: ({ dtype }) => /^u?int/.test(dtype),
  int32: ({ dtype }) => dtype === "int32",
  number: ({ dtype }) => /^(u?int|float)/.test(dtype),
  bool: ({ dtype }) => dtype === "bool",
  complex: ({ dtype }) => dtype === "complex64",
  complexMatrices: ({ dtype, shape }) => dtype === "complex64" && shape.length >= 2,
  complexRows: ({ dtype, shape }) => dtype === "complex64" && shape.length > 0 && shape[0]! > 0,
  variable: ({ variable }) => variable === true,
  table: ({ variable, shape }) => variable === true && shape.length > 0 && shape[0]! > 0,
  matrices: ({ dtype, shape }) => isFloat(dtype) && shape.length >= 2,
  attended: ({ dtype, shape }) => isFloat(dtype) && shape.length >= 3 && shape.length <= 4,
  image: ({ dtype, shape }) => isFloat(dtype) && shape.length === 4 && shape[3] === 2,
  matrix: ({ dtype, shape }) => isFloat(dtype) && shape.length === 2,
  matrixRows: ({ dtype, shape }) => isFloat(dtype) && shape.length === 2 && shape[0]! > 0,
  rows: ({ dtype, shape }) => isFloat(dtype) && shape.length > 0 && shape[0]! > 0,
  vector: ({ dtype, shape }) => isFloat(dtype) && shape.length === 1,
};

/** The dtype that a new input for a class gets. */
export const NEW_DTYPE: Readonly<Record<string, string>> = {
  int: "int32",
  int32: "int32",
  bool: "bool",
  complex: "complex64",
  complexMatrices: "complex64",
  complexRows: "complex64",
  variable: "float32",
  table: "float32",
};

/** The classes of which all values are variables. */
export const VARIABLE_CLASSES: ReadonlySet<string | null> = new Set(["variable", "table"]);

/** The shape that a new input for a class gets. */
export const NEW_SHAPE: Readonly<Record<string, readonly number[]>> = {
  matrices: [2, 3],
  matrix: [3, 4],
  matrixRows: [3, 4],
  attended: [2, 3, 4],
  image: [1, 3, 4, 2],
  rows: [3, 2],
  complexMatrices: [2, 3],
  complexRows: [4],
  vector: [3],
  table: [3, 2],
};

/** One operand of a template. */
export interface Operand {
  readonly name: string;
  /** Null: the dtype of what it is like. */
  readonly kind: string | null;
  readonly like: { readonly name: string; readonly exactly: boolean } | null;
}

/** Reads the operands of a template. */
export function operandsOf([operands]: Template): Operand[] {
  return operands.split(" ").map((text) => {
    const [, name, , kind, relation, like] = /^(\w+)(:(\w+))?(?:([~=])(\w+))?$/.exec(text)!;
    return {
      name: name!,
      kind: kind ?? null,
      like: like === undefined ? null : { name: like, exactly: relation === "=" },
    };
  });
}

/** Expressions over two values of one shape, of which the result has the shape too. */
const EXPRESSIONS = [
  "tf.add(A, B)",
  "tf.mul(A, B)",
  "tf.sub(A, tf.mul(B, 0.5))",
  "tf.sin(A)",
  "tf.tanh(B)",
  "tf.where(tf.greater(A, B), A, B)",
  "tf.where(tf.less(A, 0.2), tf.zerosLike(A), B)",
  "tf.maximum(A, tf.mean(B))",
  "tf.mul(A, tf.cast(tf.greater(B, 0), A.dtype))",
  "tf.sub(A, tf.max(A))",
  "tf.add(A, tf.cast(tf.round(tf.clipByValue(B, -3, 3)), A.dtype))",
  "tf.sigmoid(tf.add(A, B))",
  "tf.clipByValue(A, -1, 2)",
];

function expression(random: Random, a: string, b: string, depth: number): string {
  const inner = (): string =>
    depth > 0 && random.chance(0.4) ? expression(random, a, b, depth - 1) : random.pick([a, b]);
  return random.pick(EXPRESSIONS).replaceAll(/\b[AB]\b/g, (letter) => letter === "A" ? a : inner());
}

/** Fills the places of a template's text. Null where an operand's shape has none of what is asked for. */
export function fillPlaces(
  code: string,
  types: ReadonlyMap<string, ValueType>,
  random: Random,
): string | null {
  let possible = true;
  const shapeOf = (name: string): readonly number[] => types.get(name)!.shape;
  const axis = (name: string): number => {
    const rank = shapeOf(name).length;
    if (rank === 0) possible = false;
    return random.below(rank) - (random.chance(0.3) ? rank : 0);
  };
  const draw: Record<string, (given: string) => string> = {
    bool: () => String(random.chance(0.5)),
    pick: (list) => random.pick(list.split("|")),
    int: (range) => {
      const [from, to] = range.split(",").map(Number) as [number, number];
      return String(from + random.below(to - from + 1));
    },
    axis: (x) => String(axis(x)),
    axis0: () => "0",
    axes: (x) => {
      const axes = shapeOf(x).map((_, i) => i).filter(() => random.chance(0.5));
      return axes.length === 0 ? "undefined" : `[${axes}]`;
    },
    perm: (x) => {
      const order = shapeOf(x).map((_, i) => i);
      for (let i = order.length - 1; i > 0; i--) {
        const j = random.below(i + 1);
        [order[i], order[j]] = [order[j]!, order[i]!];
      }
      return `[${order}]`;
    },
    begin: (x) => `[${shapeOf(x).map((d) => random.below(Math.max(1, d)))}]`,
    index: (x) => {
      const [rows = 0] = shapeOf(x);
      if (rows === 0) possible = false;
      return String(random.below(rows));
    },
    paddings: (x) => {
      const pairs = shapeOf(x).map(() => `[${random.below(2)}, ${random.below(3)}]`);
      if (pairs.length === 0) possible = false;
      return `[${pairs.join(", ")}]`;
    },
    tiles: (x) => `[${shapeOf(x).map(() => 1 + random.below(2))}]`,
    split: (x) => {
      const [rows = 0] = shapeOf(x), first = random.below(rows + 1);
      return `${first}, 0, ${rows - first}`;
    },
    rows: (x) => String(shapeOf(x)[0]),
    expr: (pair) => {
      const [a, b] = pair.split(", ") as [string, string];
      return expression(random, a, b, 2);
    },
  };
  const drawn = new Map<string, string>(), isAlike = code.includes(SAME);
  const text = code.replace(/#(\w+)(?:\(([^()]*)\))?/g, (place, word: string, given = "") => {
    const known = isAlike ? drawn.get(place) : undefined;
    if (known !== undefined) return known;
    const made = draw[word]!(given);
    drawn.set(place, made);
    return made;
  });
  return possible ? text : null;
}
