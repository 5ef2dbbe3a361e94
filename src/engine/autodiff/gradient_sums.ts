/** Gradients: sums of gradients under way, and the lifetime of their parts. */
import { apply1 } from "../core/apply.ts";
import { newTensorId, type Tensor } from "../core/tensor.ts";
import { IndexedSlices } from "../ops/array/indexed_slices.ts";
import { add } from "../ops/pointwise/arithmetic.ts";
import { tapeMemory } from "./step_recorder.ts";
import { MergeGradients } from "./unseen.ts";

/** Gradients under way, by values. Of those that eager rules make it frees what nothing reads any more. */
export class Gradients {
  readonly #parts = new Map<number, Tensor[]>();
  /** Number of values that share each tensor of the pass. */
  readonly #uses = new Map<Tensor, number>();
  /** Younger tensors are the pass's. */
  readonly #first = newTensorId();

  /** Adds to the gradient of a value. */
  give(id: number, g: Tensor, isOwn = false): void {
    const parts = this.#parts.get(id);
    if (parts) parts.push(g);
    else this.#parts.set(id, [g]);
    // Rows may be the very gradient that a rule was given.
    if (g.components === null) this.#use(g, isOwn);
    else for (const t of g.components) this.#use(t, isOwn);
  }

  #use(t: Tensor, isOwn: boolean): void {
    if (t.isSymbolic || t.dtype === "variant") return;
    const uses = this.#uses.get(t) ?? 0;
    if (isOwn || uses > 0 || t.id > this.#first) this.#uses.set(t, uses + 1);
  }

  /** The gradient of a value; null where there is none. */
  total(id: number): Tensor | null {
    const parts = this.#parts.get(id);
    if (!parts) return null;
    while (parts.length > 1) {
      const [a, b] = parts.splice(0, 2);
      this.give(id, sumOf(a, b));
      this.drop(a);
      this.drop(b);
    }
    return parts[0];
  }

  /** True for a tensor that the pass made and one value alone has. */
  isAlone(g: Tensor): boolean {
    return this.#uses.get(g) === 1;
  }

  /** Forgets the gradient of a value: its last reader gets it, and then drops it. */
  end(id: number): readonly Tensor[] {
    const parts = this.#parts.get(id) ?? [];
    this.#parts.delete(id);
    return parts;
  }

  /** Frees a gradient unless another value has it. */
  drop(g: Tensor): void {
    if (g.components === null) this.#drop(g);
    else for (const t of g.components) this.#drop(t);
  }

  #drop(t: Tensor): void {
    const uses = this.#uses.get(t);
    if (uses === undefined) return;
    if (uses > 1) this.#uses.set(t, uses - 1);
    else {
      this.#uses.delete(t);
      tapeMemory().free(t);
    }
  }
}

/** Adds two gradients; those of unseen variables are maps, and rows stay rows. */
function sumOf(a: Tensor, b: Tensor): Tensor {
  if (a instanceof IndexedSlices) return b instanceof IndexedSlices ? a.with(b) : a.addedTo(b);
  if (b instanceof IndexedSlices) return b.addedTo(a);
  return a.dtype === "variant" ? apply1(MergeGradients, [a, b]) : add(a, b);
}
