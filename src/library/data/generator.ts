/** Elements that a JavaScript generator yields, checked against their declaration. */
import { leafSpecs } from "../../engine/core/composite.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { InvalidArgumentError, StopIteration } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject, packAs } from "../../engine/core/nest.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { compatible, shapeTuple } from "../../engine/core/shape.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { type TensorSpec, TensorSpecClass } from "../../engine/core/tensor_spec.ts";
import { EagerTensor, endScope, type Owned, withOwner } from "../../engine/runtime/eager/tensor.ts";
import { leafPaths, mapScriptError } from "../../engine/script/script_errors.ts";
import type { Tout } from "../../engine/script/tout.ts";
import {
  declaredType,
  type Element,
  type ElementType,
  hostArray,
  leavesIn,
  valueText,
} from "./element.ts";
import { type Elements, Failure, type Item, makeSource, type Source } from "./source.ts";

/** Yields the values of elements, one after the other. */
export type GeneratorFunction = (
  // deno-lint-ignore no-explicit-any
  ...args: any[]
) => Iterable<unknown> | Iterator<unknown> | AsyncIterable<unknown> | AsyncIterator<unknown>;

/** Options of {@linkcode fromGenerator}. */
export interface FromGeneratorOptions<T extends Tout = Tout> {
  /** Spec or dtype of an element, or a list or object of them. */
  readonly outputSignature: T;
  /** Arguments of the generator. */
  readonly args?: readonly unknown[];
}

const checkOptions = optionCheck<FromGeneratorOptions>("fromGenerator", {
  outputSignature: true,
  args: true,
});

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

/** Makes a source of the elements that `generator` yields; each pass calls it again. */
export function generatorSource(
  generator: GeneratorFunction,
  options: FromGeneratorOptions,
): Source {
  checkOptions(options);
  const { outputSignature, args = [] } = options;
  if (typeof generator !== "function") {
    throw new TypeError(
      "`generator` must be a JavaScript callable that returns an iterable or an iterator",
    );
  }
  if (outputSignature === undefined) {
    throw new TypeError(
      "Missing required argument: 'outputSignature' of fromGenerator, what the generator yields, as in { outputSignature: tf.TensorSpec([2], \"float32\") }",
    );
  }
  const type = declaredType(outputSignature, "composites");
  return makeSource({
    kind: "Generator",
    ...type,
    size: null,
    open: (_, from?: number) => new GeneratorPass(() => generator(...args), type, from),
  });
}

/** One call of a generator. A resumed pass runs it up to its place and drops the earlier elements. */
class GeneratorPass implements Elements {
  readonly #start: () => unknown;
  readonly #type: ElementType;
  /**
   * Tensors that the generator made, which belong to this pass: yielded ones are freed once read, the rest at the end.
   */
  readonly #owned: Owned[] = [];
  #iterator: AnyIterator | null | undefined;
  #skip: number;
  #yielded = 0;

  constructor(start: () => unknown, type: ElementType, from = 0) {
    this.#start = start;
    this.#type = type;
    this.#skip = from;
  }

  async next(): Promise<Item> {
    if (this.#iterator === undefined) {
      try {
        this.#iterator = this.#within(() => iteratorOf(this.#start()));
      } catch (error) {
        this.#iterator = null;
        return new Failure(mapped(error));
      }
    }
    for (;;) {
      if (this.#iterator === null) return null;
      const step = await nextOf(this.#iterator, (fn) => this.#within(fn));
      // A generator that threw has ended; another iterator may go on.
      if (!(step instanceof Failure) && step.done) {
        this.#iterator = null;
        continue;
      }
      this.#yielded++;
      if (this.#skip > 0) {
        this.#skip--;
        if (!(step instanceof Failure)) this.#free(step.value);
      } else if (step instanceof Failure) return step;
      else {
        const giver = "TypeError: `generator` yielded";
        return await declaredElement(step.value, this.#type, giver, this.#owned)
          .catch((error) => new Failure(error));
      }
    }
  }

  save(): number {
    return this.#yielded + this.#skip;
  }

  async close(): Promise<void> {
    await this.#within(() => this.#iterator?.return?.());
    endScope(this.#owned);
  }

  #within<R>(fn: () => R): R {
    return withOwner(this.#owned, fn);
  }

  #free(value: unknown): void {
    for (const leaf of leavesIn(this.#type.structure, value) ?? []) free(leaf, this.#owned);
  }
}

function iteratorOf(made: unknown): AnyIterator {
  const iterable = made as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined;
  const iterator = iterable?.[Symbol.asyncIterator]?.() ?? iterable?.[Symbol.iterator]?.() ?? made;
  if (typeof (iterator as AnyIterator | null)?.next === "function") return iterator as AnyIterator;
  throw new TypeError(
    `\`generator\` must return an iterable or an iterator, received ${valueText(made)}`,
  );
}

async function nextOf(
  iterator: AnyIterator,
  within: <R>(fn: () => R) => R,
): Promise<IteratorResult<unknown> | Failure> {
  try {
    return await within(() => iterator.next());
  } catch (error) {
    if (error instanceof StopIteration) return { done: true, value: undefined };
    return new Failure(mapped(error));
  }
}

function mapped(error: unknown): Error {
  return mapScriptError(error, { op: "GeneratorDataset", token: "generator" });
}

/**
 * Converts a plain value to an element of a declared type; tensors in it that are `owned` are freed once read. Rejects
 * with `InvalidArgumentError` in TensorFlow's phrases, which names `giver`, for a value that does not fit.
 */
export async function declaredElement(
  value: unknown,
  { specs, structure }: ElementType,
  giver: string,
  owned: Owned[] = [],
): Promise<Element> {
  const leaves = leavesIn(structure, value);
  if (leaves === null) {
    const wanted = signatureText(packAs(structure, leafSpecs(structure, specs)));
    throw refused(
      `${giver} an element that did not match the expected structure. The expected structure was ${wanted}, but the yielded element was ${
        isPlainObject(value)
          ? `{${Object.keys(value).sort().map((key) => `'${key}'`).join(", ")}}`
          : valueText(value)
      }.`,
    );
  }
  const arrays: NdArray[] = [];
  for (let i = 0; i < leaves.length; i++) {
    const path = (): string => {
      const at = leafPaths(structure)[i];
      return at && ` It is the element's ${at}`;
    };
    const array = await readLeaf(leaves[i], specs[i], { giver, path });
    if (!compatible(specs[i].shape, array.shape)) {
      throw refused(
        `${giver} an element of shape ${shapeTuple(array.shape)} where an element of shape ${
          shapeTuple(specs[i].shape)
        } was expected.${path()}`,
      );
    }
    arrays.push(array);
  }
  for (const leaf of leaves) free(leaf, owned);
  return arrays;
}

async function readLeaf(
  leaf: unknown,
  { dtype, shape }: TensorSpec,
  { giver, path }: { readonly giver: string; readonly path: () => string },
): Promise<NdArray> {
  const fail = (cause?: unknown): never => {
    throw refused(
      `${giver} an element that could not be converted to the expected type. The expected type was ${dtype}, but the yielded element was ${
        valueText(leaf)
      }.${typeof leaf === "string" ? " It is a string." : ""}${path()}`,
      cause,
    );
  };
  if (leaf instanceof Tensor) {
    const array = await leaf.ndarray();
    return array.dtype === dtype ? array : fail();
  }
  // An empty list does not determine the axes below.
  const empty = Array.isArray(leaf) && leaf.length === 0 ? shape?.map((d) => d ?? 0) : undefined;
  if (empty !== undefined && empty[0] === 0) return NdArray.zeros(dtype, empty);
  try {
    return hostArray(leaf, dtype);
  } catch (cause) {
    return fail(cause);
  }
}

function free(leaf: unknown, owned: Owned[]): void {
  if (!(leaf instanceof EagerTensor) || leaf.kept) return;
  const i = owned.lastIndexOf(leaf);
  if (i < 0) return;
  owned.splice(i, 1);
  leaf.dispose();
}

function refused(text: string, cause?: unknown): InvalidArgumentError {
  return new InvalidArgumentError(text, { op: "GeneratorDataset", cause });
}

/** Formats a signature in Python's manner: `(tf.float32, tf.int32)`. */
function signatureText(nest: unknown): string {
  if (nest instanceof TensorSpecClass) return `tf.${nest.dtype}`;
  if (Array.isArray(nest)) {
    return `(${nest.map(signatureText).join(", ")}${nest.length === 1 ? "," : ""})`;
  }
  if (!isPlainObject(nest)) return String(nest);
  return `{${
    Object.keys(nest).sort().map((key) => `'${key}': ${signatureText(nest[key])}`).join(", ")
  }}`;
}
