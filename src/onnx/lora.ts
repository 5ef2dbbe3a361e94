/** lora: adapters of low rank over a model's weights, which stay as they are. */
import { counted, showAs } from "../engine/core/arrays/shown.ts";
import { optionCheck, wantList, wantMade, wrongArgument } from "../engine/core/arguments.ts";
import { isFloating } from "../engine/core/dtype.ts";
import { ValueError } from "../engine/core/errors.ts";
import type { Tensor } from "../engine/core/tensor.ts";
import { type Variable, variable } from "../engine/runtime/variables/variable.ts";
import * as tf from "./build/tf.ts";
import { adapterNodes, graphNodes } from "./edit/adapters.ts";
import type { Edit } from "./edit/edit_graph.ts";
import type { Edits } from "./edit/edits.ts";
import { type NamePattern, nameTest } from "./edit/patterns.ts";
import { type WeightedNode, weightedNodes } from "./edit/weights.ts";
import { editsOf, OnnxModel } from "./model.ts";

/** Options of {@linkcode lora}. */
export interface LoraOptions {
  /** Columns of the first factor and rows of the second. Default 8. */
  readonly rank?: number;
  /** Numerator of the factor `alpha / rank` of what is added. Default: the rank. */
  readonly alpha?: number;
  /**
   * Patterns of names of nodes or of their weights: products, embeddings and convolutions without groups. Default: all
   * products.
   */
  readonly targets?: NamePattern;
  /** Seed of the first factors. Default: random. */
  readonly seed?: number;
}

const checkOptions = optionCheck<LoraOptions>("lora", {
  rank: true,
  alpha: true,
  targets: true,
  seed: true,
});

/** An adapter with what it is for. */
interface Adapter {
  readonly a: Variable;
  readonly b: Variable;
  /** Names of the factors. */
  readonly names: readonly [a: string, b: string];
  /** The nodes that share it, as they share their weight. */
  readonly nodes: WeightedNode[];
  readonly edits: Edit[];
}

/** Adapters of a model. Made by {@linkcode lora}. */
export class Lora {
  readonly #edits: Edits;
  readonly #scale: number;
  #adapters: readonly Adapter[];

  /** Made by {@linkcode lora}. */
  constructor(edits: Edits, adapters: readonly Adapter[], scale: number) {
    wantMade(edits, "graph", {
      arg: "edits",
      fn: "new Lora()",
      wanted: "those of a model, of which lora() makes one",
    });
    wantList(adapters, "adapters", "new Lora()");
    this.#edits = edits;
    this.#adapters = adapters;
    this.#scale = scale;
  }

  /** The adapters' variables, as `weight.lora_A` and `weight.lora_B`: to train, save and load. */
  get variables(): Readonly<Record<string, Variable>> {
    return Object.fromEntries(
      this.#adapters.flatMap(({ names: [a, b], ...of }) => [[a, of.a], [b, of.b]]),
    );
  }

  /** Names of the nodes that they change. */
  get targets(): readonly string[] {
    return this.#adapters.flatMap(({ nodes }) => nodes.map(({ node }) => node.name));
  }

  /**
   * Adds the adapters to the weights, and removes them: the model computes the same without them. Adapters stay over
   * weights of few bits, constants, and weights that other nodes read. Returns the names of the nodes that keep theirs.
   */
  merge(): string[] {
    const merged = this.#adapters.filter((adapter) => this.#isMergeable(adapter));
    for (const { a, b, nodes: [weighted] } of merged) {
      const weight = this.#edits.variables[weighted.root];
      tf.isolated({}, () => tf.tidy(() => addTo(weight, weighted, [a, b, this.#scale])));
    }
    this.#drop(merged);
    return [...this.targets];
  }

  /** Removes the adapters from the model and frees their variables. */
  remove(): void {
    this.#drop(this.#adapters);
  }

  #isMergeable({ nodes }: Adapter): boolean {
    const { graph, variables } = this.#edits, [{ root }] = nodes;
    if (!Object.hasOwn(variables, root) || !graph.initialisers.has(root)) return false;
    if (!nodes.every((n) => n.isPlain && n.alpha !== 0)) return false;
    const own = new Set(nodes.flatMap(({ node, makers }) => [node, ...makers]));
    const names = new Set([...own].flatMap((n) => n.outputs).concat(root));
    for (const { node } of nodes) node.outputs.forEach((o) => names.delete(o));
    const isOutput = graph.outputs.some((v) => names.has(v.name));
    return !isOutput &&
      graph.nodes.every((n) =>
        own.has(n) || !n.inputs.some((i) => names.has(i)) &&
          Object.values(n.graphs).every((g) => !g.captures.some((c) => names.has(c)))
      );
  }

  #drop(adapters: readonly Adapter[]): void {
    this.#adapters = this.#adapters.filter((a) => !adapters.includes(a));
    for (const { a, b, names, edits } of adapters) {
      edits.forEach((edit, i) => this.#edits.remove(edit, i === 0 ? names : []));
      a.dispose();
      b.dispose();
    }
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<Lora of ${counted(this.#adapters.length, "weight")}>`;
  }
}
showAs(Lora);

/** Adds the product of two factors to a weight. */
function addTo(
  weight: Variable,
  { kind, isTurned, alpha }: WeightedNode,
  [a, b, scale]: readonly [Variable, Variable, number],
): void {
  const shape = [...weight.staticShape];
  let product: Tensor;
  if (kind === "filter") {
    const flat = (v: Variable): Tensor => tf.reshape(v, [v.staticShape[0], -1]);
    product = tf.reshape(tf.matMul(flat(b), flat(a)), shape);
  } else product = isTurned ? tf.matMul(b, a, true, true) : tf.matMul(a, b);
  const sum = tf.add(tf.cast(weight, "float32"), tf.mul(product, scale / alpha));
  weight.assign(tf.cast(sum, weight.dtype));
}

/**
 * Adds adapters of low rank to a model, and freezes the weights of its file: what a product `x · W` computes becomes
 * `x · W + alpha / rank · x · A · B`, of which A and B are trained. B begins with zeros, so that the model computes the
 * same as before. The weights may be floats, or of 4 or 8 bits (MatMulNBits, DequantizeLinear). Throws `ValueError` if no
 * node fits the pattern, or one has an adapter already.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { loadOnnx, lora } from "@weft/weft/onnx";
 * // y = MatMul(x, w)
 * const file = "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
 * const model = await loadOnnx(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
 * const adapters = lora(model, { rank: 1, seed: 1 });
 * console.log(Object.keys(adapters.variables)); // ["w.lora_A", "w.lora_B"]
 * const before = tf.clone(model.variables.w);
 * tf.train.sgd(0.1).minimize(() => tf.sum(model.call({ x: [[1, 1]] }).y as tf.Tensor));
 * console.log(await tf.all(tf.equal(model.variables.w, before)).array()); // true
 * adapters.merge();
 * console.log(Object.keys(model.variables)); // ["w"]
 * ```
 */
export function lora(model: OnnxModel, options: LoraOptions = {}): Lora {
  if (!(model instanceof OnnxModel)) {
    throw wrongArgument(model, "model", "lora", "a model of loadOnnx()");
  }
  checkOptions(options);
  const { rank = 8, alpha = rank, targets, seed } = options;
  if (!Number.isSafeInteger(rank) || rank < 1) {
    throw new ValueError(
      `Cannot make adapters: the rank is ${rank}, wanted a whole number above 0`,
    );
  }
  if (!Number.isFinite(alpha)) {
    throw new ValueError(`Cannot make adapters: alpha is ${alpha}, wanted a finite number`);
  }
  const edits = editsOf(model), { graph } = edits, scale = alpha / rank;
  const adapters = new Map<string, Adapter>();
  try {
    for (const weighted of targetsOf(edits, targets)) {
      const key = keyOf(weighted, adapters);
      let adapter = adapters.get(key);
      if (adapter === undefined) {
        const own = seed === undefined ? undefined : seed + adapters.size;
        adapters.set(key, adapter = adapterOf(weighted, key, rank, own));
      }
      const { names: [a, b] } = adapter,
        version = weighted.node.domain === ""
          ? weighted.node.version
          : graph.nodes.find((n) => n.domain === "")?.version ?? 21;
      const messages = (result: string) => adapterNodes(weighted, { a, b, scale }, result);
      const edit = {
        name: weighted.node.outputs[0],
        messages,
        nodes: (result: string) => graphNodes(messages(result), version),
      };
      edits.add(edit, adapter.nodes.length === 0 ? { [a]: adapter.a, [b]: adapter.b } : {});
      adapter.nodes.push(weighted);
      adapter.edits.push(edit);
    }
  } catch (e) {
    new Lora(edits, [...adapters.values()], scale).remove();
    throw e;
  }
  for (const [name, v] of Object.entries(model.variables)) {
    if (graph.initialisers.has(name)) v.trainable = false;
  }
  return new Lora(edits, [...adapters.values()], scale);
}

/** Returns the nodes that fit a pattern. Throws `ValueError` if there are none. */
function targetsOf({ graph }: Edits, pattern: NamePattern | undefined): WeightedNode[] {
  const all = weightedNodes(graph).filter((w) =>
    isFloating(w.dtype) && w.shape.every((d) => d > 0)
  );
  const fits = pattern === undefined ? () => true : nameTest(pattern, "make adapters");
  const found = all.filter(({ node, root, kind }) =>
    pattern === undefined ? kind === "product" : fits(node.name) || fits(root)
  );
  if (found.length > 0) return found;
  const some = all.slice(0, 5).map(({ node, root }) => `"${node.name}" with "${root}"`).join(", ");
  throw new ValueError(
    `Cannot make adapters: no node with a weight is called ${pattern ?? "anything"}, there is ${
      some || "none"
    }`,
  );
}

/** Nodes of one kind that read one weight share an adapter. */
function keyOf(
  { root, kind, shape, isTurned, alpha, node }: WeightedNode,
  made: Map<string, Adapter>,
): string {
  const before = made.get(root)?.nodes[0];
  const isSame = before === undefined ||
    before.kind === kind && before.alpha === alpha && before.isTurned === isTurned &&
      `${before.shape}` === `${shape}`;
  return isSame ? root : node.name;
}

function adapterOf(
  { kind, shape }: WeightedNode,
  key: string,
  rank: number,
  seed: number | undefined,
): Adapter {
  const [a, b] = shapesOf(kind, shape, rank);
  const inputs = kind === "filter" ? a.slice(1).reduce((n, d) => n * d, 1) : a[0];
  // Rows of an embedding are not mixed: there the second factor is random, as A is where it mixes inputs.
  const [first, second] = kind === "rows" ? [b, a] : [a, b], bound = 1 / Math.sqrt(inputs);
  const [random, zero] = tf.isolated({}, () => {
    let made: Variable[] = [];
    tf.tidy(() => {
      const values = kind === "rows"
        ? tf.randomNormal(first, 0, 1, "float32", seed)
        : tf.randomUniform(first, -bound, bound, "float32", seed);
      // Both values stand before the first variable: a shape too large to make leaves none behind.
      const zeros = tf.zeros(second);
      made = [variable(values), variable(zeros)];
    });
    return made;
  });
  const names = [`${key}.lora_A`, `${key}.lora_B`] as const;
  const factors = kind === "rows" ? { a: zero, b: random } : { a: random, b: zero };
  return { ...factors, names, nodes: [], edits: [] };
}

/** Shapes of both factors. */
function shapesOf(
  kind: WeightedNode["kind"],
  shape: readonly number[],
  rank: number,
): [number[], number[]] {
  if (kind !== "filter") return [[shape[0], rank], [rank, shape[1]]];
  const [out, ...inner] = shape;
  return [[rank, ...inner], [out, rank, ...inner.slice(1).map(() => 1)]];
}
