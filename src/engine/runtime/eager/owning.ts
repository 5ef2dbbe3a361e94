/** Ties tensors to the life of another object: the values of a function that a gradient may read later. */
import type { Tensor } from "../../core/tensor.ts";
import type { TapeMemory } from "../../autodiff/step_recorder.ts";
import { cpuDevice } from "../devices/devices.ts";
import { endScope, type Owned, withOwner } from "./scopes.ts";
import { Held } from "../../core/contract/held.ts";
import { HandleStorage } from "./storage.ts";
import { EagerTensor } from "./tensor.ts";

/** Owns tensors while a holder exists. */
class Owner extends Held {
  readonly #owned: readonly EagerTensor[];

  constructor(owned: readonly EagerTensor[]) {
    super();
    this.#owned = owned;
    // A script must not dispose its tensors at its end.
    for (const t of owned) t.kept = "owned";
  }
  protected override free(): void {
    for (const t of this.#owned) t.dispose();
  }
}

/** Calls a function whose results outlive the scopes in force; see {@linkcode TapeMemory.owning}. */
export const owning: TapeMemory["owning"] = (xs, fn, chosen) => {
  const made: Owned[] = [];
  const handle = (x: Tensor): Tensor => {
    if (!(x instanceof EagerTensor)) return x;
    const own = x.alias(x.id);
    own.context = x.context;
    return own;
  };
  const call = () => {
    const own = xs.map(handle), result = fn(own);
    return { result, wanted: chosen(result, own) };
  };
  try {
    const { result, wanted } = withOwner(made, call), names = wanted && new Set<Tensor>(wanted);
    const owned = made.filter((t): t is EagerTensor =>
      t instanceof EagerTensor && !t.isDisposed && !t.kept && names?.has(t) !== false
    );
    // All other tensors belong to the scope in force; tapes end.
    const others = made.filter((t) => !owned.includes(t as EagerTensor));
    endScope(others, new Set(others));
    if (owned.length === 0) return { result, owned, owner: null };
    const spec = { dtype: "variant", shape: [] } as const;
    const storage = new HandleStorage(cpuDevice(), [new Owner(owned)], spec);
    return { result, owned, owner: new EagerTensor(spec.dtype, spec.shape, storage) };
  } catch (e) {
    endScope(made);
    throw e;
  }
};
