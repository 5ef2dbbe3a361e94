/** Random programs over lists: they write and read them in loops and branches, and go on with older versions beside newer ones. */
import * as tf from "@weft/weft";

/** A statement of a program. Lists are numbered; an index is `(a · i + b) mod n` of the turn's number. */
export type Statement =
  /** List `to` is list `from` with another element. */
  | { readonly kind: "write"; readonly from: number; readonly to: number; readonly at: Index }
  /** Adds an element to the sum. */
  | { readonly kind: "read"; readonly from: number; readonly at: Index }
  | { readonly kind: "if"; readonly then: Program; readonly otherwise: Program }
  | { readonly kind: "loop"; readonly turns: number; readonly body: Program }
  | { readonly kind: "call"; readonly body: Program };
export type Program = readonly Statement[];
type Index = readonly [a: number, b: number];

/** Lists of a program, and the elements of each. Writes to lists that grow go up to three times as far. */
export const LISTS = 3, ELEMENTS = 4, GROWN = 12;

/** Numbers below `n`, the same for one seed. */
export function randomOf(seed: number): (n: number) => number {
  let state = seed * 2654435761 % 2 ** 32;
  return (n) => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return Math.floor(state / 2 ** 32 * n);
  };
}

export function randomProgram(random: (n: number) => number, depth = 3): Program {
  return Array.from({ length: 1 + random(3) }, (): Statement => {
    const at: Index = [random(3), random(ELEMENTS)], from = random(LISTS);
    const inner = (): Program => randomProgram(random, depth - 1);
    switch (depth === 0 ? random(4) : random(9)) {
      case 0:
      case 1:
      case 2:
        // Mostly the list is replaced, sometimes the old one stays beside it.
        return { kind: "write", from, to: random(3) > 0 ? from : random(LISTS), at };
      case 3:
      case 4:
        return { kind: "read", from, at };
      case 5:
        return { kind: "if", then: inner(), otherwise: inner() };
      case 6:
        return { kind: "call", body: inner() };
      default:
        return { kind: "loop", turns: 1 + random(4), body: inner() };
    }
  });
}

/** The state of a program. */
interface State<V, L> {
  readonly sum: V;
  readonly lists: readonly L[];
}

/** The results of a program by plain numbers: the sum, then the elements of all lists. */
export function runPlainly(
  program: Program,
  x: number,
  { grows = false }: { readonly grows?: boolean } = {},
): number[] {
  type Plain = State<number, readonly number[]>;
  const run = (state: Plain, statements: Program, i: number): Plain => {
    for (const s of statements) {
      const { sum, lists } = state;
      if (s.kind === "write") {
        const at = place(s.at, i, grows ? GROWN : ELEMENTS), next = lists[s.from].slice();
        while (next.length <= at) next.push(0);
        state = { sum, lists: lists.with(s.to, next.with(at, sum * 0.5 + x)) };
      } else if (s.kind === "read") {
        state = { sum: sum * 0.5 + lists[s.from][place(s.at, i)], lists };
      } else if (s.kind === "if") state = run(state, i % 2 === 0 ? s.then : s.otherwise, i);
      else if (s.kind === "call") state = run(state, s.body, i);
      else for (let k = 0; k < s.turns; k++) state = run(state, s.body, k);
    }
    return state;
  };
  const start = Array.from({ length: LISTS }, () => Array<number>(ELEMENTS).fill(0));
  const { sum, lists } = run({ sum: x, lists: start }, program, 0);
  return [sum, ...lists.flat()];
}

function place([a, b]: Index, i: number, elements = ELEMENTS): number {
  return (a * i + b) % elements;
}

/** {@linkcode runPlainly} by tensors: `x` is a vector, each number becomes one. Works eagerly and in graphs. */
export function runByTensors(
  program: Program,
  x: tf.Tensor,
  { dtype = "float32", grows = false }: { dtype?: tf.DataType; grows?: boolean } = {},
): tf.Tensor {
  type Traced = State<tf.Tensor, tf.TensorArray>;
  const half = (v: tf.Tensor): tf.Tensor => tf.mul(v, 0.5);
  const at = ([a, b]: Index, i: tf.Tensor, elements = ELEMENTS): tf.Tensor =>
    tf.mod(tf.add(tf.mul(i, a), b), elements);
  const growth = { dynamicSize: grows }, reach = grows ? GROWN : ELEMENTS;
  const packed = ({ sum, lists }: Traced): (tf.Tensor | tf.TensorArray)[] => [sum, ...lists];
  const unpacked = ([sum, ...lists]: readonly unknown[]): Traced => ({
    sum: sum as tf.Tensor,
    lists: lists as tf.TensorArray[],
  });
  const run = (state: Traced, statements: Program, i: tf.Tensor): Traced => {
    for (const s of statements) {
      const { sum, lists } = state;
      if (s.kind === "write") {
        const next = lists[s.from].write(at(s.at, i, reach), tf.add(half(sum), x));
        state = { sum, lists: lists.with(s.to, next) };
      } else if (s.kind === "read") {
        state = { sum: tf.add(half(sum), lists[s.from].read(at(s.at, i))), lists };
      } else if (s.kind === "if") {
        const before = state, branch = (p: Program) => () => packed(run(before, p, i)) as never;
        state = unpacked(tf.cond(tf.equal(tf.mod(i, 2), 0), branch(s.then), branch(s.otherwise)));
      } else if (s.kind === "call") {
        const f = tf.function((i: tf.Tensor, sum: tf.Tensor, ...flows: tf.Tensor[]) => {
          const given = { sum, lists: flows.map((t) => tf.TensorArray.fromFlow(t, growth)) };
          const { sum: after, lists } = run(given, s.body, i);
          return [after, ...lists.map((list) => list.flow)];
        });
        const [after, ...flows] = f(i, sum, ...lists.map((list) => list.flow)) as tf.Tensor[];
        state = { sum: after, lists: flows.map((t) => tf.TensorArray.fromFlow(t, growth)) };
      } else {
        const [, after] = tf.whileLoop(
          (k) => tf.less(k, s.turns),
          (k, now) => [tf.add(k, 1), packed(run(unpacked(now), s.body, k))],
          [tf.scalar(0, "int32"), packed(state)],
        );
        state = unpacked(after);
      }
    }
    return state;
  };
  const elementShape = x.shape;
  const empty = () => new tf.TensorArray(dtype, ELEMENTS, { elementShape, ...growth });
  const start = { sum: x, lists: Array.from({ length: LISTS }, empty) };
  const { sum, lists } = run(start, program, tf.scalar(0, "int32"));
  return tf.concat([tf.expandDims(sum, 0), ...lists.map((list) => list.stack())]);
}
